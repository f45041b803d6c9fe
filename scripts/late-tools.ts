import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { lateToolSet } from '../src/presets/late-tool-set.ts'

/** What a tool says of itself without being asked about a call: all that JSON can hold. */
export const factsOf = (): string => JSON.stringify(lateToolSet, null, 2)

/** Writes `src/presets/late-tool-facts.ts`; `npm run format` comes after it. */
if (import.meta.main) {
  const code = `import type { ToolDef } from '../core/tool.ts'

// Made by scripts/late-tools.ts; never edited.

/** What the tools of \`late-tools.ts\` say of themselves. */
export const lateToolFacts = ${factsOf()} satisfies Record<string, Omit<ToolDef, 'execute'>>

export type LateToolKey = keyof typeof lateToolFacts
`
  writeFileSync(fileURLToPath(new URL('../src/presets/late-tool-facts.ts', import.meta.url)), code)
}
