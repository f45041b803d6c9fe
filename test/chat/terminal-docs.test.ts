import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { terminalDocs, terminalDocsPath } from '../../scripts/terminal-docs.ts'

test('the slash commands in docs/terminal.md are those there are (else: npx node --conditions=libero-source scripts/terminal-docs.ts)', async () => {
  expect(readFileSync(terminalDocsPath, 'utf8')).toBe(await terminalDocs())
})
