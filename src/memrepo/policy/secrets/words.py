"""The words around a secret: what people call one, in many languages, and what they call things that only look alike.

Data only. Words are lower case; a word of a script without spaces is looked for as a part of the text.
Source, unless a row says otherwise: the everyday vocabulary of each language, and the setting names that the providers
of `PROVIDERS` give in their own documentation.
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Splits a table of words at white space."""
    return frozenset(text.split())


# What stands for a human-chosen secret. Stem -> language.
PASSWORD_WORDS: dict[str, str] = {
    "password": "en, it",
    "passwd": "en",
    "passwrd": "en",
    "passphrase": "en",
    "passcode": "en",
    "pass phrase": "en",
    "community string": "en",
    "snmp community": "en",
    "psk": "en, Wi-Fi",
    "pwd": "en",
    "passwort": "de",
    "kennwort": "de",
    "passphrasen": "de",
    "zugangscode": "de",
    "contraseña": "es",
    "contrasena": "es",
    "mot de passe": "fr",
    "motdepasse": "fr",
    "mdp": "fr",
    "parola": "it, tr, ro",
    "senha": "pt",
    "palavra-passe": "pt",
    "wachtwoord": "nl",
    "hasło": "pl",
    "haslo": "pl",
    "parol": "uz, transliterated ru",
    "парол": "ru, uk, bg (any ending)",
    "密码": "zh",
    "密碼": "zh",
    "口令": "zh",
    "パスワード": "ja",
    "暗証番号": "ja",
    "パスフレーズ": "ja",
    "비밀번호": "ko",
    "암호": "ko",
    "패스워드": "ko",
    "şifre": "tr",
    "lösenord": "sv",
    "adgangskode": "da",
    "passord": "no",
    "salasana": "fi",
    "heslo": "cs, sk",
    "jelszó": "hu",
    "κωδικός": "el",
    "mật khẩu": "vi",
    "kata sandi": "id",
    "كلمة المرور": "ar",
    "كلمة السر": "ar",
    "סיסמה": "he",
    "סיסמא": "he",
    "पासवर्ड": "hi",
    "รหัสผ่าน": "th",
}

# What stands for a short number or a set of one-time codes. Stem -> language.
CODE_WORDS: dict[str, str] = {
    "pin": "en, de, fr",
    "passcode": "en",
    "cvv": "en",
    "cvc": "en",
    "recovery code": "en",
    "backup code": "en",
    "recovery key": "en",
    "door code": "en",
    "gate code": "en",
    "alarm code": "en",
    "access code": "en",
    "entry code": "en",
    "unlock code": "en",
    "security code": "en",
    "lock code": "en",
    "2fa code": "en",
    "safe code": "en",
    "scratch code": "en",
    "wiederherstellungscode": "de",
    "türcode": "de",
    "geheimzahl": "de",
    "código de recuperación": "es",
    "código de acceso": "es",
    "code de secours": "fr",
    "code de récupération": "fr",
    "digicode": "fr",
    "código de recuperação": "pt",
    "пин": "ru",
    "恢复码": "zh",
    "备用码": "zh",
    "リカバリーコード": "ja",
    "バックアップコード": "ja",
}

# Words after which "name / password" may stand, and the password word that is too common to stand alone.
PAIR_WORDS = ("pass", "pw", "user", "login", "credentials", "creds", "zugangsdaten")
SEED_WORDS = ("phrase", "mnemonic", "seed")
WIFI_WORDS = ("ssid", "wifi", "wi-fi", "wlan")

# Names of a machine-made secret, as single words (camelCase and snake_case are split first). Word -> kind.
SECRET_WORDS: dict[str, str] = {
    "key": "key",
    "keys": "key",
    "apikey": "api-key",
    "apikeys": "api-key",
    "token": "token",
    "tokens": "token",
    "apitoken": "token",
    "authtoken": "token",
    "accesstoken": "token",
    "bearertoken": "token",
    "refreshtoken": "token",
    "secret": "secret",
    "secrets": "secret",
    "clientsecret": "secret",
    "secretkey": "secret",
    "accesskey": "key",
    "privatekey": "key",
    "authkey": "key",
    "signingkey": "key",
    "credential": "credential",
    "credentials": "credential",
    "cred": "credential",
    "creds": "credential",
    "auth": "credential",
    "authorization": "credential",
    "authentication": "credential",
    "bearer": "token",
    "pat": "token",
    "jwt": "token",
    "cookie": "cookie",
    "license": "licence-key",
    "licence": "licence-key",
    "password": "password",
    "passwords": "password",
    "passwd": "password",
    "pwd": "password",
    "pass": "password",
    "passphrase": "password",
    "schlüssel": "key",
    "apischlüssel": "api-key",
    "zugangsschlüssel": "key",
    "geheimnis": "secret",
    "geheimschlüssel": "secret",
    "zugriffstoken": "token",
    "zugangstoken": "token",
    "zugangsdaten": "credential",
    "llave": "key",
    "clave": "key",
    "claves": "key",
    "secreto": "secret",
    "credenciales": "credential",
    "clé": "key",
    "clef": "key",
    "cle": "key",
    "jeton": "token",
    "jetons": "token",
    "identifiants": "credential",
    "chiave": "key",
    "segreto": "secret",
    "chave": "key",
    "segredo": "secret",
    "sleutel": "key",
    "geheim": "secret",
    "klucz": "key",
    "sekret": "secret",
    "nyckel": "key",
    "nøgle": "key",
    "nøkkel": "key",
    "avain": "key",
    "klíč": "key",
    "anahtar": "key",
    "anahtarı": "key",
    "ключ": "key",
    "ключа": "key",
    "токен": "token",
    "токена": "token",
    "секрет": "secret",
    "ssws": "token",
    "dsn": "credential",
    "sas": "credential",
    "sessid": "cookie",
    "jsessionid": "cookie",
    "phpsessid": "cookie",
    "sessionid": "cookie",
    "sessiontoken": "token",
}

# The same for scripts without spaces.
SECRET_PARTS: dict[str, str] = {
    "密钥": "key",
    "密鑰": "key",
    "秘钥": "key",
    "金鑰": "key",
    "令牌": "token",
    "凭证": "credential",
    "私钥": "key",
    "秘密鍵": "key",
    "キー": "key",
    "トークン": "token",
    "シークレット": "secret",
    "키는": "key",
    "키:": "key",
    "토큰": "token",
    "시크릿": "secret",
    "密码": "password",
    "口令": "password",
    "パスワード": "password",
    "비밀번호": "password",
    "คีย์": "key",
    "कुंजी": "key",
    "مفتاح": "key",
}

# Parts of setting names after which a value is read as assigned.
ASSIGNED_STEMS = ("key", "token", "secret", "cred", "auth", "access", "licen", "cookie")

# A word before "key", "token", … that makes it no secret: "public key", "primary key", "idempotency key".
OPEN_MODIFIERS = word_set(
    """
    public pub publishable primary foreign partition sort cache idempotency natural composite unique surrogate
    gpg pgp recv bucket schema sequence object map dictionary dict hash hot row column index idx lookup routing
    busting clustering invalidation verify verifying verification resume resumption continue
    message kafka group cursor page pagination continuation next previous sync csrf xsrf change field json yaml
    config configuration translation i18n issue jira project ticket feature flag arrow function shift control
    enter escape tab hotkey keyboard answer room house car kms customer managed cmk host known deploy anti
    syncing device push registration design lexer parser end start stop special pad eos bos cls sep mask per max
    min input output prompt completion context num number total block validator site sitekey recaptcha redis s3
    item record dedupe deduplication sharding shard distribution grouping aggregation turkey minor major musical
    piano öffentlicher öffentliche öffentlichen primärer pública público publica publique primaria pubblica
    openbare publiczny открытый публичный fremd
    """
)

# A word after "key", "token", … that makes the phrase the name of something else: "key id", "token bucket".
OTHER_HEADS = word_set(
    """
    id ids identifier name names url uri urls endpoint endpoints file files filename path paths dir directory
    folder type types length size sizes version versions hash hashes digest checksum fingerprint thumbprint
    alias aliases arn count counts limit limits quota budget usage cost costs expiry expires expiration expiring
    ttl lifetime age policy policies rotation rotations bucket buckets prefix suffix format formats vault
    manager store storage service services server servers provider providers pair pairs ring chain board code
    codes event events press down up selector signature signatures frame frames note notes word words stone
    exchange algorithm class classes field fields column columns header headers param params parameter
    parameters variable variables var env environment table schema model models mapping stream window windows
    refresh refreshes commit commits branch job jobs run runs build builds pipeline test tests spec suite check
    checks scan scans scanner scanning leak leaks audit audits review reviews ticket tickets issue issues bug
    bugs pr fix fixes change changes migration update module package library repo repository reference ref refs
    label labels tag tags status state reset resets changed hint hints strength rules rule requirements
    requirement page form input dialog screen prompt reuse spraying holder owner audience issuer subject scope
    scopes permission permissions role roles accessor lookup generation derivation validation validator
    verification handler handling helper component guard middleware flow flows based management backup lock
    locks mount namespace engine engines backend request requests response rate trading people takeaway
    takeaways insight insights metric metrics point points result results question questions feature features
    decision decisions stakeholder stakeholders difference differences contact contacts date dates person
    account accounts findings idea ideas lime west largo figure performance indicator indicators classification
    distribution embedding embeddings economy sale vocabulary per regex regexp pattern patterns encryption hashing
    hasher work color colour
    """
)

# Names of values that look like secrets and are not. The first list decides wherever it heads its phrase ("the commit
# that rotated the key is …"), the second only right before the value ("account …").
OPEN_HEADS = word_set(
    """
    commit commits committed sha hash hashes hashed checksum checksums digest digests md crc revision rev ref
    refs merge merged cherry picked fixup bisect fingerprint thumbprint integrity uuid guid id ids identifier
    trace span traceparent correlation etag txid tx prüfsumme хеш коммит srcrev backport reverted nonce salt
    parent kid jwks
    """
)
OPEN_LABELS = OPEN_HEADS | word_set(
    """
    head git svn hg branch tag tagged request req build builds run runs job jobs pipeline workflow deployment
    release version versions order orders invoice invoices tracking shipment parcel receipt serial image images
    layer layers container containers docker blob tree object bundle artifact artifacts asset assets chunk file
    files filename path folder directory url link endpoint hostname host ip mac phone tel telephone fax iban
    isbn issn ean upc sku ticket case issue pr account accounts customer tenant subscription userid project org
    organization organisation team workspace channel thread message event page document doc dataset experiment
    snapshot volume instance node pod cluster arn ami vpc subnet sg zone region block transaction transactions
    txn address wallet contract iv multihash cid ipfs model models vorgang bestellung rechnung suma somme pedido
    factura facture commande public publishable pubkey cert certificate serialnumber dedupe lockfile resource
    recording video playlist calendar spreadsheet sheet drive pub
    """
)
OPEN_LABEL_PARTS = ("提交", "哈希", "校验", "订单", "コミット", "ハッシュ", "チェックサム", "注文", "커밋", "해시")

# Words that may follow the name of a secret and leave it the name: copulas, prepositions and fillers.
COPULAS = word_set(
    """
    is are was were be being been now equals to at still as ist lautet sind war heißt es son era está est sont
    était è sono é são zijn jest är er on je jsou olan это 是 は 为 為 는 은 equal reads set changed reset becomes
    remains
    """
)
PREPOSITIONS = word_set(
    """
    for of in on at to from by with under via per and or used uses using that which we i you our the a an my
    your für von vom zum zur im auf beim der die das dem den des unseren unser de del la para en con por los las
    el du le les pour sur dans au aux da do dos no na di il lo della dello van voor op het een для от на в к у z
    dla på till til för av
    """
)

# What follows "password" in prose as a plain word and is no password: "the password is required".
PLAIN_WORDS = word_set(
    """
    a an the not no never always also only just still now then here there this that these those it its his her
    their our my your same different new old own wrong right correct incorrect valid invalid weak strong safe
    secure insecure secret private public hidden visible empty blank missing present absent unknown known
    optional mandatory required needed necessary set unset reset stored saved kept hashed salted encrypted
    encoded decoded masked redacted rotated changed updated expired leaked exposed compromised shared sent given
    written read checked validated verified generated random unique long short good bad fine ok okay default
    temporary permanent plain plaintext cleartext case-sensitive sensitive confidential protected locked managed
    handled defined configured provided supplied passed used reused asked prompted entered typed in on at by
    from for with without via as to of under over per and or but if when while until because so than between
    within inside outside above below after before every each any all some most more less about up down out off
    again already yet soon once twice daily weekly monthly yearly what where who how why which whose whatever
    unchanged active usable live important
    bcrypt argon2 scrypt pbkdf2 sha256 md5 utf-8 string str text bytes int integer number
    bool boolean object array list map dict char varchar secretstr none null nil undefined true false yes todo
    tbd n/a na see ask contact use check must should can cannot could will would may might shall has have had do
    does did be been being is are was were gets got getting goes going needs need password passwords passwd
    passphrase pwd pass secrets token tokens key keys credential credentials login username user admin email
    name id value field input form prompt policy manager vault keychain keyring keepass 1password bitwarden
    lastpass dashlane env environment file config settings documentation docs wiki manual rotation length
    strength hash hint complexity minimum maximum characters letters digits symbols changeme change-me example
    placeholder dummy fake sample foo bar baz xxx nicht nie immer im ein eine einer eines der die das dem den
    und oder aber geheim sicher unsicher falsch richtig abgelaufen erforderlich nötig notwendig vergessen
    geändert gespeichert hinterlegt sicherheitsrelevant bekannt verschlüsselt pflicht leer stark schwach lang
    kurz bei auf von mit ohne nach vor zu wird wurde muss soll nunca siempre en el la los las un una del de
    segura seguro débil fuerte obligatoria obligatorio requerida caducada incorrecta guardada cambiada cifrada
    almacenada olvidada secreta privada y o con sin por para debe está ne pas jamais toujours dans le les une du
    des sûr faible fort obligatoire requis expiré stocké enregistré changé oublié chiffré haché privé et ou avec
    sans pour par doit est sera conservé non mai sempre nel nella il lo di sicura debole forte obbligatoria
    scaduta errata salvata cambiata não os um uma da fraca obrigatória expirada incorreta salva alterada niet
    nooit altijd het een van veilig zwak sterk verplicht verlopen onjuist opgeslagen gewijzigd не в на для у и
    или нужен нужна хранится должен должна истёк истек неверный слабый надёжный обязателен забыт jest w wymagane
    nieprawidłowe bezpieczne zapisane
    """
)

# Endings of words that tell how a password is, not what it is.
PLAIN_ENDINGS = (
    "ing",
    "able",
    "ible",
    "ory",
    "ary",
    "ed",
    "ly",
    "less",
    "ful",
    "tion",
    "ment",
    "ness",
    "ieren",
    "iert",
    "ado",
    "ada",
)

# What stands in place of a secret, compared without case.
PLACEHOLDERS = word_set(
    """
    changeme change_me change-me changeit example placeholder dummy fake sample mock redacted removed hidden
    masked secret password passwd pass pwd token key apikey api_key api-key user username login none null nil
    undefined true false todo tbd fixme xxx xxxx n/a na yes no on off empty string str text value default
    optional required your-token your_token yourtoken your-key your-api-key your_api_key yourpassword
    your-password your_password mytoken my-token my_token mykey my-key mypassword my-password my_password
    mysecret my-secret my_secret insert-here replace-me replace_me replaceme foo bar baz foobar test testing
    tests sandbox staging production somepassword some-password thepassword secretpassword supersecret
    dein-passwort passwort contraseña motdepasse keychain keyring vault env environment inherited same as-above
    ditto unset
    """
)

# Providers whose secrets are told by their name. Word (or two words joined) -> slug.
PROVIDERS: dict[str, str] = {
    name.replace("-", ""): name
    for name in sorted(
        word_set(
            """
            1password adafruit adobe adyen age airtable algolia alibaba aliyun amplitude anthropic anyscale apify
            artifactory asana atlassian authress auth0 aws azure backblaze beamer betterstack bitbucket bitfinex bitly
            bittrex binance braintree braze brevo bugsnag buildkite bunny cerebras chargebee chroma circleci cisco
            meraki clearbit clerk clickhouse clickup clojars cloudflare cloudinary codacy codecov codeclimate cohere
            coinbase coingecko confluence confluent contentful convex coveralls customerio databricks datadog deepgram
            deepl deepseek definednetworking digitalocean discord docker dockerhub docusign doppler drone droneci
            dropbox duffel dynatrace easypost elastic elevenlabs endor etsy expo facebook fastly fauna figma finicity
            finnhub firebase fireworks flickr flutterwave fly flyio frameio freemius freshbooks freshdesk front
            fullstory gcp gemini ghost giphy gitea github gitlab gitter gocardless godaddy google grafana groq gumroad
            harness hashicorp hasura heap heroku hetzner honeycomb hubspot huggingface influxdb infracost infura
            instagram intercom intra42 ipinfo ipstack jenkins jfrog bintray xray jira jumpcloud kaggle keycloak klaviyo
            kraken kucoin langfuse langsmith launchdarkly linear linkedin linode lob logdna loggly looker mailchimp
            mailersend mailgun mailjet mandrill mapbox mattermost maxmind messagebird mistral mixpanel mongodb mux neon
            netlify newrelic newsapi ngrok nightfall notion npm nuget nvidia nytimes newyorktimes octopus okta onelogin
            openai openrouter openshift openweather opsgenie optimizely ovh pagerduty papertrail paypal percy perplexity
            pinecone pinterest plaid planetscale polygon postgres posthog postman postmark prefect privateai pulumi
            pusher pypi qdrant quay rabbitmq railway rapidapi razorpay readme recurly reddit redis render replicate
            resend rollbar rubygems runpod salesforce scaleway scalingo segment semaphore sendbird sendgrid sendinblue
            sentry settlemint shippo shodan shopify sidekiq signalwire slack snowflake snyk sonar sonarqube sonarcloud
            sourcegraph splunk spotify square squarespace statuspage strava stripe sumologic sumo supabase tailscale
            tavily teams telegram tencent terraform tiktok tines todoist together togetherai travis travisci trello
            turso twilio twitch twitter typeform typesense unsplash upstash vault vercel virustotal vonage vultr
            wakatime wandb weaviate webex webflow weightsbiases wix woocommerce wordpress workos xai yandex yelp youtube
            zapier zendesk zilliz zoho zoom
            """
        )
    )
}

# Hosts of code: 40 hex digits beside their name are a commit unless a secret's name says otherwise.
CODE_HOSTS = frozenset({"github", "gitlab", "bitbucket", "gitea", "sourcegraph"})

# Providers whose keys are UUIDs: `heroku: <uuid>` is one, elsewhere a UUID needs to be called a key.
UUID_PROVIDERS = word_set(
    """
    heroku hubspot snyk squarespace kucoin messagebird sendbird pinecone railway postmark
    """
)

# Providers whose application ids are handed out like secrets; everywhere else an id is not one.
ID_PROVIDERS = word_set(
    """
    adobe asana bitbucket discord linkedin looker messagebird plaid newrelic sendbird sumologic sumo alibaba
    """
)
