import type { McpDefinition } from './definitions/read-definitions.ts'
import type { SeenDefinition } from './mcp-tool.ts'
import type { McpMemory } from './memory.ts'

/** Which definitions of a server are known: seen first, or accepted by somebody since. */
export interface KnownTools {
  /** Tells those that changed from the others. New ones count as known from now on. */
  look(definitions: readonly McpDefinition[]): Promise<readonly SeenDefinition[]>
  /** Somebody looked at it and let it be called. */
  accept(definition: McpDefinition): Promise<void>
}

/** Kept in `memory`, so that a server cannot be one thing today and another tomorrow. */
export function createKnownTools(memory: McpMemory, key: string): KnownTools {
  // What a memory cannot keep, or has lost, holds as long as this connection all the same.
  const ours = new Map<string, string>()

  async function digests(): Promise<Map<string, string>> {
    const { tools = {} } = (await memory.get(key).catch(() => undefined)) ?? {}
    return new Map([...ours, ...Object.entries(tools)])
  }

  async function save(known: ReadonlyMap<string, string>): Promise<void> {
    for (const [tool, digest] of known) ours.set(tool, digest)
    try {
      await memory.set(key, { ...(await memory.get(key)), tools: Object.fromEntries(known) })
    } catch {
      // a full disk must not cost anybody a server
    }
  }

  return {
    async look(definitions) {
      const known = await digests()
      const fresh = definitions.filter(({ tool }) => !known.has(tool))
      for (const { tool, digest } of fresh) known.set(tool, digest)
      if (fresh.length > 0) await save(known)
      return definitions.map((definition) => ({
        definition,
        isChanged: known.get(definition.tool) !== definition.digest,
      }))
    },
    async accept({ tool, digest }) {
      await save((await digests()).set(tool, digest))
    },
  }
}
