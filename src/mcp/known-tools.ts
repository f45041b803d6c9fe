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
  async function save(digests: Readonly<Record<string, string>>): Promise<void> {
    await memory.set(key, { ...(await memory.get(key)), tools: digests })
  }

  return {
    async look(definitions) {
      const known = new Map(Object.entries((await memory.get(key))?.tools ?? {}))
      const fresh = definitions.filter(({ tool }) => !known.has(tool))
      for (const { tool, digest } of fresh) known.set(tool, digest)
      if (fresh.length > 0) await save(Object.fromEntries(known))
      return definitions.map((definition) => ({
        definition,
        isChanged: known.get(definition.tool) !== definition.digest,
      }))
    },
    async accept({ tool, digest }) {
      await save({ ...(await memory.get(key))?.tools, [tool]: digest })
    },
  }
}
