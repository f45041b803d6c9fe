/** What of the official package is used. */
export interface ServerSdk {
  readonly sdk: typeof import('@modelcontextprotocol/server')
  readonly stdio: typeof import('@modelcontextprotocol/server/stdio')
  /** Interprets schemas, where the default one would make code of them. */
  readonly Validator: typeof import('@modelcontextprotocol/server/validators/cf-worker').CfWorkerJsonSchemaValidator
}

let loading: Promise<ServerSdk> | undefined

/** The official server, loaded by the first client that is served. */
export function loadServerSdk(): Promise<ServerSdk> {
  loading ??= load().catch((cause) => {
    loading = undefined
    throw new Error(
      'Being an MCP server needs the package @modelcontextprotocol/server, which is not installed; run npm install @modelcontextprotocol/server',
      { cause },
    )
  })
  return loading
}

async function load(): Promise<ServerSdk> {
  const [sdk, stdio, { CfWorkerJsonSchemaValidator: Validator }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('@modelcontextprotocol/server/stdio'),
    import('@modelcontextprotocol/server/validators/cf-worker'),
  ])
  return { sdk, stdio, Validator }
}
