import xterm from '@xterm/headless'
import { expect, test } from 'vitest'
import { hostile } from '../../../test/cli/screen-scenes.ts'
import { renderRow } from '../rows/render-row.ts'
import { createPaint } from '../terminal/paint.ts'
import { createMarkdownRenderer } from './render-markdown.ts'

const paint = createPaint({ colours: true })

test('UI71 text of a model cannot move the cursor, set a title, leave the screen or hide characters', async () => {
  const screen = new xterm.Terminal({ cols: 100, rows: 50, scrollback: 5000, allowProposedApi: true })
  const titles: string[] = []
  screen.onTitleChange((title) => titles.push(title))
  const replies: string[] = []
  screen.onData((reply) => replies.push(reply))
  const wrappers: ((text: string) => string)[] = [
    (text) => text,
    (text) => `**${text}**`,
    (text) => `\`${text}\``,
    (text) => `[${text}](https://a.test/${text})`,
    (text) => `\`\`\`ts\nlet a = "${text}" // ${text}\n\`\`\``,
    (text) => `| a |\n|---|\n| ${text} |`,
    (text) => `- ${text}\n  - ${text}`,
  ]
  let written = 0
  for (const text of hostile)
    for (const wrap of wrappers) {
      const rows = [
        ...createMarkdownRenderer(paint, { folder: '/desk' })(wrap(`a${text}b`), 90),
        ...renderRow(
          { kind: 'answer', id: 'a', seq: 1, at: 0, text: '', thinking: text, content: [], error: text },
          { paint, columns: 90, cwd: '/desk' },
        ),
      ]
      for (const row of rows) {
        await new Promise<void>((resolve) => screen.write(`${row}\r\n`, resolve))
        written++
        const { baseY, cursorY, cursorX, type } = screen.buffer.active
        expect([baseY + cursorY, cursorX, type], `${JSON.stringify(text)} in ${JSON.stringify(row)}`).toEqual([
          written,
          0,
          'normal',
        ])
      }
    }
  expect(written).toBeGreaterThan(100)
  expect([titles, replies]).toEqual([[], []])
})
