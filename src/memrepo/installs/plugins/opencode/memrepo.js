// memrepo in opencode: tells `memrepo hook` what happens in a session, and does what it answers.
// Runs in version 2 (`setup`) and version 1 (`server`). Nothing is decided here, and nothing is kept.
// When memrepo cannot be started or takes too long, opencode goes on as if it were not there.
import { spawn } from "node:child_process"

const PROGRAM = ["memrepo"]
const OPTIONS = []
const VARIABLES = {}
const TIMEOUT_MS = 10_000

/** Runs one hook; the answer is an object, {} when there is none. */
function ask(event, payload) {
  return new Promise((resolve) => {
    let said = ""
    let told = ""
    let child
    try {
      const [command, ...words] = PROGRAM
      child = spawn(command, [...words, "hook", "opencode", event, ...OPTIONS], {
        env: { ...process.env, ...VARIABLES },
        stdio: ["pipe", "pipe", "pipe"],
      })
    } catch {
      resolve({})
      return
    }
    const timer = setTimeout(() => child.kill(), TIMEOUT_MS)
    child.on("error", () => {
      clearTimeout(timer)
      resolve({})
    })
    child.stdout.on("data", (part) => (said += part))
    child.stderr.on("data", (part) => (told += part))
    child.stdin.on("error", () => {})
    child.on("close", (status) => {
      clearTimeout(timer)
      if (status === 2) {
        resolve({ decision: "deny", reason: told.trim() })
        return
      }
      try {
        resolve(JSON.parse(said || "{}") ?? {})
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

/** What happens in the sessions of one opencode; `findParent` asks opencode for the parent of a session. */
function watch(folder, findParent) {
  const blocks = new Map()
  const parents = new Map()

  async function isOwn(session) {
    if (!parents.has(session)) {
      try {
        parents.set(session, (await findParent(session)) ?? null)
      } catch {
        return false // doubt: its messages are not the user's
      }
    }
    return parents.get(session) === null
  }

  /** What every event says about its session. */
  async function about(session) {
    const own = await isOwn(session)
    const parent = parents.get(session)
    return {
      session_id: session,
      cwd: folder,
      ...(own ? {} : { is_sub_agent: true }),
      ...(parent ? { parent_session_id: parent } : {}),
    }
  }

  return {
    async start(session) {
      if (!blocks.has(session)) {
        blocks.set(
          session,
          about(session).then(async (facts) => {
            const answer = await ask("session-start", facts)
            return !facts.is_sub_agent && typeof answer.context === "string" ? answer.context : ""
          }),
        )
      }
      return blocks.get(session)
    },
    learnParent: (session, parent) => parents.set(session, parent ?? null),
    async prompt(session, text) {
      await this.start(session)
      const facts = await about(session)
      if (text && !facts.is_sub_agent) await ask("prompt", { ...facts, prompt: text })
    },
    /** The tool's input as it should be; throws when the call may not be made. */
    async before(session, tool, input) {
      await this.start(session)
      const facts = await about(session)
      const answer = await ask("before-tool", { ...facts, tool_name: tool, tool_input: input ?? {} })
      if (answer.decision === "deny") throw new Error(answer.reason || "memrepo: not allowed")
      return answer.tool_input && typeof answer.tool_input === "object" ? answer.tool_input : input
    },
    async after(session, tool, input) {
      await ask("after-tool", { ...(await about(session)), tool_name: tool, tool_input: input ?? {} })
    },
    async end(session) {
      const facts = await about(session)
      blocks.delete(session)
      parents.delete(session)
      await ask("session-end", facts)
    },
  }
}

export default {
  id: "memrepo",

  // Version 2: https://opencode.ai/docs/build/plugins
  async setup(ctx) {
    const folder = ctx.location?.directory ?? process.cwd()
    const sessions = watch(folder, async (id) => (await ctx.session.get({ sessionID: id })).parentID)
    await ctx.session.hook("prompt", async (event) => {
      await sessions.prompt(event.sessionID, event.prompt?.text ?? "")
    })
    await ctx.session.hook("context", async (event) => {
      if (event.kind && event.kind !== "primary") return
      const block = await sessions.start(event.sessionID)
      if (block) event.system.push({ type: "text", text: block })
    })
    await ctx.tool.hook("execute.before", async (event) => {
      event.input = await sessions.before(event.sessionID, event.tool, event.input)
    })
    await ctx.tool.hook("execute.after", async (event) => {
      await sessions.after(event.sessionID, event.tool, event.input)
    })
  },

  // Version 1: https://opencode.ai/v1/docs/plugins
  async server({ client, directory }) {
    const sessions = watch(directory, async (id) => (await client.session.get({ path: { id } })).data.parentID)
    return {
      event: async ({ event }) => {
        const session = event.properties?.info
        if (event.type === "session.created" && session) {
          sessions.learnParent(session.id, session.parentID)
          await sessions.start(session.id)
        }
        if (event.type === "session.deleted" && session) await sessions.end(session.id)
      },
      "chat.message": async (input, output) => {
        const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic)
        await sessions.prompt(input.sessionID, typed.map((part) => part.text).join("\n"))
      },
      "experimental.chat.system.transform": async (input, output) => {
        const block = input.sessionID ? await sessions.start(input.sessionID) : ""
        if (block) output.system.push(block)
      },
      "tool.execute.before": async (input, output) => {
        output.args = await sessions.before(input.sessionID, input.tool, output.args)
      },
      "tool.execute.after": async (input) => {
        await sessions.after(input.sessionID, input.tool, input.args)
      },
    }
  },
}
