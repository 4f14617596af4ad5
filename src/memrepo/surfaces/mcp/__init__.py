"""Memory as an MCP server: tools, resources and a prompt for any agent host, over stdio or HTTP on this machine.

Floors: `arguments` and `tools` are data; `opened` holds the repo; `calls` and `resources` do the work, blocking;
`server` speaks the protocol; `stdio` and `http` carry it. Only the last three load the SDK.
"""
