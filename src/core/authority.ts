/** What a call does to the world, as its tool declares it; the authority judges these, not tool names. */
export type Effect = 'fs.read' | 'fs.write' | 'exec' | 'net' | 'spawn' | 'ask' | 'unknown' | `mcp:${string}`
