import { describe, expect } from 'vitest'
import { fakeTerminal } from '../../../test/cli/fake-terminal.ts'
import { createEvents } from '../../../test/cli/screen-scenes.ts'
import { sampleOf, testInTurns } from '../../../test/soak.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createScreen } from './screen.ts'

const test = testInTurns(2)

/** Streams a text to a terminal, with a frame after some deltas, and returns the output. */
async function printed(text: string, size: number): Promise<string> {
  const { terminal, said } = fakeTerminal({ env: { NO_COLOR: '1' } })
  const clock = fakeClock()
  const screen = createScreen({ terminal, cwd: '/desk/project', clock })
  const { hint, turn } = createEvents()
  for (let at = 0; at < text.length; at += size) {
    screen.show(hint({ type: 'text', turnId: 't1', attempt: 1, delta: text.slice(at, at + size) }))
    if (at % (size * 64) === 0) await clock.advance(50)
  }
  screen.show(turn('t1', text))
  screen.close()
  expect(clock.pending).toBe(0)
  return said.out
}

const letters = (text: string): string => text.replace(/[\s•]/g, '')

describe('UI-09 an answer of any size and shape is shown within the time limit', () => {
  test.each(
    sampleOf(
      [
        ['a paragraph of a megabyte', 'lorem ipsum '.repeat(84_000)],
        ['a megabyte without a blank', 'x'.repeat(1_000_000)],
        ['a hundred thousand items', '- x\n'.repeat(100_000)],
        ['thirty thousand blocks', 'a\n\n'.repeat(30_000)],
        ['code of a megabyte', `\`\`\`\n${'code line\n'.repeat(100_000)}\`\`\`\n`],
        ['brackets', '['.repeat(500_000)],
        ['emphasis that never ends', '_a__b '.repeat(80_000)],
        ['blocks of emphasis that never ends', `${'_a__b '.repeat(700)}\n\n`.repeat(60)],
        ['quotes in quotes', `${'>'.repeat(10_000)} a\n\n`.repeat(8)],
        ['blank lines in raw HTML', `<pre>${'\n'.repeat(15_000)} a\n\n`.repeat(200)],
      ],
      2,
    ),
  )('%s', async (_, text) => {
    const out = await printed(text, 40)
    const [lost, made] = [letters(text), letters(out)]
    // Marks may become styles; letters are never lost.
    expect(made.replace(/[^a-z]/g, '').length).toBe(lost.replace(/[^a-z]/g, '').length)
  })

  test('a table of 200,000 rows', async () => {
    const out = await printed(`| a | b |\n|---|---|\n${'| x | y |\n'.repeat(200_000)}`, 997)
    expect(out.match(/x/g)).toHaveLength(200_000)
  })
})
