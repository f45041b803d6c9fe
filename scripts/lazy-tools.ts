import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { lazyToolSet } from '../src/presets/basic.ts'

/** What a tool says of itself without being asked about a call: all that JSON can hold. */
export const factsOf = (): string => JSON.stringify(lazyToolSet, null, 2)

/** Writes `src/presets/lazy-tool-facts.ts`; `npm run format` comes after it. */
if (import.meta.main) {
  const code = `import type { ToolDef } from '../core/tool.ts'

// Made by scripts/lazy-tools.ts; never edited.

/** What the tools of \`lazy-tools.ts\` say of themselves. */
export const lazyToolFacts = ${factsOf()} satisfies Record<string, Omit<ToolDef, 'execute'>>

export type LazyToolKey = keyof typeof lazyToolFacts
`
  writeFileSync(fileURLToPath(new URL('../src/presets/lazy-tool-facts.ts', import.meta.url)), code)
}
