type Sdk = typeof import('@modelcontextprotocol/client')

let loading: Promise<Sdk> | undefined

/** The official client, loaded by the first server that is connected to. */
export function loadSdk(): Promise<Sdk> {
  loading ??= import('@modelcontextprotocol/client').catch((cause) => {
    loading = undefined
    throw new Error(
      'MCP servers need the package @modelcontextprotocol/client, which is not installed; run npm install @modelcontextprotocol/client',
      { cause },
    )
  })
  return loading
}
