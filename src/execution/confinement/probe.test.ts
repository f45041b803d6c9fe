import { expect, test } from 'vitest'
import type { ExecResult } from '../../core/execution.ts'
import { NoSandboxHere } from '../bubblewrap/check.ts'
import { inTime } from './probe.ts'

const ended: ExecResult = { stdout: 'ok', stderr: '', exitCode: 0 }
const late: ExecResult = { stdout: '', stderr: '', exitCode: null, timedOut: true }

test('a probe that a busy machine did not let end is tried once more, with more time', async () => {
  const results = [late, ended]
  const given: number[] = []
  const run = async (timeout: number): Promise<ExecResult> => {
    given.push(timeout)
    return results.shift()!
  }
  expect(await inTime(run)).toBe(ended)
  expect(given[1]).toBeGreaterThan(given[0]!)
})

test('one that does not end then either says nothing about the sandbox', async () => {
  const failure = inTime(async () => late)
  await expect(failure).rejects.toThrow('the machine may be busy')
  await expect(failure).rejects.not.toBeInstanceOf(NoSandboxHere)
})
