import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keyGroups } from './keys.ts'

test('docs/terminal.md lists every key, as the program does', () => {
  const docs = readFileSync(join(import.meta.dirname, '../../docs/terminal.md'), 'utf8')
  const rows = keyGroups.flatMap(({ keys }) =>
    keys.map(
      ({ keys: names, does }) =>
        `| ${names
          .split(' ')
          .map((name) => `\`${name}\``)
          .join(' ')} | ${does} |`,
    ),
  )
  for (const row of rows) expect(docs).toContain(row)
})
