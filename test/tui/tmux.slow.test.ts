import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { compileCache } from '../compile-cache.ts'
import { tuiCommand } from './tui-kit.ts'

const hasTmux = spawnSync('tmux', ['-V']).status === 0
if (!hasTmux) console.warn('tmux is not installed: the interactive terminal is not tried in it')

test.skipIf(!hasTmux)(
  'UI83 in tmux, lines stand once in the history through resizes, and the screen is given back',
  async () => {
    const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'libero-tmux-')))
    const env = { PATH: process.env.PATH, HOME: cwd, TERM: 'xterm-256color', NODE_NO_WARNINGS: '1', ...compileCache }
    const tmux = (...args: string[]): string =>
      execFileSync('tmux', ['-S', join(cwd, 'socket'), '-f', '/dev/null', ...args], { cwd, env, encoding: 'utf8' })
    onTestFinished(() => void tmux('kill-server'))
    const command = `${tuiCommand('slow').join(' ')}; echo "exit $?"; cat`
    tmux('new-session', '-d', '-x', '80', '-y', '24', command)
    const text = (): string => tmux('capture-pane', '-p', '-S', '-').trimEnd()
    const see = async (words: string): Promise<void> => {
      for (let i = 0; !text().includes(words); i++) {
        if (i > 300) throw new Error(`${words} did not come:\n${text()}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    await see('enter sends')
    tmux('send-keys', 'hello', 'Enter')
    await see('Line 3 of')
    for (let i = 0; i < 5; i++) {
      tmux('resize-window', '-x', String(60 + ((i * 37) % 60)), '-y', String(15 + ((i * 7) % 20))) // while it streams
      // tmux tells its programs of a resize at most every 250 ms, but draws what they write in the new size at once.
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    tmux('resize-window', '-x', '80', '-y', '24')
    await see('Line 59 of')
    await see('enter sends')
    tmux('send-keys', 'again', 'Enter')
    await see('Second.')
    const lines = text().match(/Line \d+ of a long answer\./g)
    expect(lines).toEqual(Array.from({ length: 60 }, (_, i) => `Line ${i} of a long answer.`))
    for (const once of ['› hello', '› again', 'Second.']) expect(text().split(once)).toHaveLength(2)
    tmux('send-keys', 'C-d')
    await see('exit 0')
    expect(text()).not.toContain('enter sends')
  },
)
