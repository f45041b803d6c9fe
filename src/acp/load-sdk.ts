/** Loads the official SDK, an optional dependency. The only import of its code. */
export async function loadSdk(): Promise<typeof import('@agentclientprotocol/sdk')> {
  return import('@agentclientprotocol/sdk').catch((cause) => {
    const how = 'install it with: npm install @agentclientprotocol/sdk'
    throw new Error(`The Agent Client Protocol needs the package @agentclientprotocol/sdk; ${how}`, { cause })
  })
}
