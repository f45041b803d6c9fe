import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { testInTurns } from '../soak.ts'
import { openApp } from './app-kit.ts'
import { puppetModel } from './puppet-model.ts'
import { providerOf } from './scripts.ts'
import { startTui } from './tui-kit.ts'

const test = testInTurns(2)

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

test('UI80 ten megabytes are pasted, cut anywhere, and the model gets every character', async () => {
  const terminal = startTui('digest')
  await terminal.see('enter sends')
  const text = Array.from({ length: 200_000 }, (_, i) => `line ${i} of a long paste, 漢字 and é, to its end`).join('\n')
  const marked = `\x1b[200~${text}\x1b[201~`
  // The first pieces cut the opening mark, the last ones the closing mark.
  for (const piece of [marked.slice(0, 3), marked.slice(3, -4), marked.slice(-4, -2), marked.slice(-2)]) {
    terminal.type(piece)
    await pause(5)
  }
  await terminal.until(/200,?000 lines/)
  terminal.type('\r')
  await terminal.see(`got ${text.length} characters, ${digestOf(text)}`)
})

// By a clock that the test advances: on a busy machine a real one may find half a second between two pieces.
test('UI80 a paste without marks is known by its speed, cut anywhere, and the model gets every character', async () => {
  const app = await openApp({ provider: providerOf('digest') })
  const shows = (words: string | RegExp) => () => app.screen.visible().join('\n').search(words) >= 0
  const bare = Array.from({ length: 20_000 }, (_, i) => `line ${i} without marks`).join('\r')
  for (let at = 0; at < bare.length; at += 4095) {
    app.type(bare.slice(at, at + 4095))
    await app.pass(20)
  }
  await app.until(shows(/20,?000 lines/))
  app.type('\r')
  const wanted = bare.replaceAll('\r', '\n')
  await app.until(shows(`got ${wanted.length} characters, ${digestOf(wanted)}`))
  await app.close()
})

test('UI82 a terminal that takes nothing makes frames wait: at most one is kept, and every line comes when it takes them', async () => {
  const model = puppetModel()
  const app = await openApp({ provider: model })
  app.type('go\r')
  await app.until(() => model.isAsked)
  await app.pass(50)
  app.screen.isSlow = true
  const { output } = app.screen
  let most = 0
  for (let i = 0; i < 1500; i++) {
    model.say(`line ${i}\n\n`)
    await app.pass(10)
    most = Math.max(most, output.writableLength)
  }
  expect(most).toBeLessThan(5000)
  app.screen.isSlow = false
  model.reply()
  await app.until(() => app.chat.state.phase === 'idle')
  await app.pass(50)
  const lines = app.screen.lines().filter((line) => line.startsWith('line '))
  expect(lines).toEqual(Array.from({ length: 1500 }, (_, i) => `line ${i}`))
  await app.close()
})

test('UI111 where the terminal draws marks of ambiguous width over two columns, ours are replaced and others measured so', async () => {
  const terminal = startTui('hello', { isAmbiguousWide: true, columns: 60 })
  await terminal.until(/enter sends - \/ commands - @ files[\s\S]*\n ask - script-1 - /)
  terminal.type('\u00b7\u2026\u00b7x')
  await terminal.until((text) => text.includes('\u00b7\u2026\u00b7x'))
  expect(terminal.cursor.column).toBe(3 + 6 + 1) // the prompt, three wide characters, a narrow one
  terminal.type('\r')
  await terminal.see('How can I help?')
  expect(terminal.text()).toContain('› \u00b7\u2026\u00b7x') // what the person writes stays as it is
})

test('UI82 a terminal that takes 2 KB a second gets fewer frames, is never far behind, and loses no line', async () => {
  const terminal = startTui('slow', { bytesPerSecond: 2048 })
  await terminal.see('enter sends')
  terminal.type('tell me\r')
  await terminal.see('Line 59 of a long answer')
  const lines = terminal.text().match(/^Line \d+ of a long answer\.$/gm)
  expect(lines).toEqual(Array.from({ length: 60 }, (_, i) => `Line ${i} of a long answer.`))
  // Twice as many come if they are not held back.
  expect(terminal.raw.split('\x1b[?2026h').length).toBeLessThan(75)
  for (const piece of terminal.raw.split('\x1b[6n')) expect(piece.length).toBeLessThan(8192)
})
