import { expect, test } from 'vitest'
import type { ExecutionHandle } from '../core/execution.ts'
import { type ClientTerminal, runInTerminal } from './client-terminals.ts'

const silent = new Promise<never>(() => {})
const handle = { cwd: '/' } as ExecutionHandle

/** A client that shows output and then answers nothing more. */
function silentTerminal() {
  const asked: string[] = []
  const terminal: ClientTerminal = {
    id: 't',
    currentOutput: async () => (asked.includes('kill') ? silent : { output: 'so far', truncated: false }),
    waitForExit: () => silent,
    kill: () => {
      asked.push('kill')
      return silent
    },
    release: () => {
      asked.push('release')
      return silent
    },
  }
  return { asked, options: { create: async () => terminal, pollMs: 1, killGraceMs: 10 } }
}

test('AC16 a client that does not end a command that takes too long does not hold the call', async () => {
  const { asked, options } = silentTerminal()
  expect(await runInTerminal(handle, 'sleep 60', { timeout: 50 }, options)).toEqual({
    ...{ stdout: 'so far', stderr: '', exitCode: null, timedOut: true },
  })
  expect(asked).toEqual(['kill', 'release'])
})

test('AC16 a client that does not end a command that was cancelled does not hold the call', async () => {
  const { asked, options } = silentTerminal()
  const stop = new AbortController()
  const running = runInTerminal(handle, 'sleep 60', { signal: stop.signal }, options)
  stop.abort(new Error('cancelled'))
  await expect(running).rejects.toThrow('cancelled')
  expect(asked).toEqual(['kill', 'release'])
})
