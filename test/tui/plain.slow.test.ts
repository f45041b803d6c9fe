import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { compileCache } from '../compile-cache.ts'
import { startTui, tuiCommand } from './tui-kit.ts'

test('UI79 a whole conversation with an approval in plain lines over a pipe: no sequence but colours, nothing twice', async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'libero-tui-')))
  const [file, ...args] = tuiCommand('write')
  const env = {
    PATH: process.env.PATH,
    HOME: cwd,
    NODE_NO_WARNINGS: '1',
    FORCE_COLOR: '1',
    TUI_PLAIN: '1',
    ...compileCache,
  }
  const child = spawn(file, args, { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  child.stdout.on('data', (data) => {
    text += data
  })
  const see = async (words: string): Promise<void> => {
    for (let i = 0; !text.includes(words); i++) {
      if (i > 1500) throw new Error(`${words} did not come:\n${text}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  child.stdin.write('write it\n')
  await see('Allow write_file?')
  await see('y  yes')
  await see('a letter')
  child.stdin.write('y\n')
  await see('Allow edit?')
  await new Promise((resolve) => setTimeout(resolve, 800))
  child.stdin.write('y\n')
  await see('Written.')
  child.stdin.end()
  expect(await new Promise((resolve) => child.on('exit', resolve))).toBe(0)
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('one\nthree\n')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences are what this is about
  const plain = text.replace(/\x1b\[[\d;]*m/g, '')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: see above
  expect(plain).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f]/)
  for (const once of ['Written.', '› write it', '? Allow write_file?']) expect(plain.split(once)).toHaveLength(2)
})

test('UI79 pages and keys are printed, a session is chosen by number, and the conversation goes on', async () => {
  const terminal = startTui('hello', { columns: 100, env: { TUI_PLAIN: '1' } })
  await terminal.see('libero waits for you')
  terminal.type('/help\r')
  await terminal.see('/compact', 'Replace the older part')
  terminal.type('/keys\r')
  await terminal.see('alt+enter: sends when the agent is done')
  terminal.type('/mode\r')
  await terminal.see('a number and Enter; Enter alone: 2')
  terminal.type('1\r')
  await terminal.see('Mode: plan')
  terminal.type('hello\r')
  await terminal.see('How can I help?')
  terminal.type('/sessions\r')
  await terminal.see('1. hello, ')
  terminal.type('\r')
  terminal.type('and then?\r')
  await terminal.see('And again.')
  expect(terminal.isAlternate).toBe(false)
})
