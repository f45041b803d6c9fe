import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { isAlive, processState, thisProcess } from './process-identity.ts'

const isLinux = process.platform === 'linux'

test('this process is alive', () => {
  expect(thisProcess().pid).toBe(process.pid)
  expect(processState(thisProcess())).toBe('alive')
})

test('a process that ended is dead', () => {
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  expect(isAlive({ ...thisProcess(), pid, started: '' })).toBe(false)
})

test.runIf(isLinux)('FD-13 a number that now belongs to another process does not make its old owner alive', () => {
  const { started } = thisProcess()
  expect(started).toMatch(/^\d+$/)
  expect(isAlive({ ...thisProcess(), started: String(Number(started) - 1) })).toBe(false)
})

test.runIf(isLinux)('a process from before the machine was started again is dead', () => {
  expect(isAlive({ ...thisProcess(), boot: 'another start' })).toBe(false)
})

test('of a process on another machine or in another container nothing is known, so it counts as alive', () => {
  expect(processState({ ...thisProcess(), host: 'elsewhere', boot: 'another' })).toBe('unknown')
  expect(processState({ ...thisProcess(), namespace: 'pid:[1]', pid: 2 ** 22 })).toBe('unknown')
  expect(isAlive({ ...thisProcess(), host: 'elsewhere' })).toBe(true)
})

test('numbers that no process can have are dead, and nothing is signalled', () => {
  expect(isAlive({ ...thisProcess(), pid: 2 ** 22 + 1 })).toBe(false)
})
