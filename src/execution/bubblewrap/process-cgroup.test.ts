import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createProcessCgroup } from './process-cgroup.ts'

/** Ordinary folders: those of the kernel fill themselves. */
let at: string
beforeEach(() => {
  at = mkdtempSync(join(tmpdir(), 'libero-cgroup-test-'))
})
afterEach(() => rm(at, { recursive: true, force: true }))

describe('a group with a limit', () => {
  test('is made in the tree of its controller', () => {
    mkdirSync(join(at, 'pids'))
    writeFileSync(join(at, 'pids/tasks'), '')
    const { entrance } = createProcessCgroup(50, at)
    expect(entrance).toMatch(new RegExp(`^${at}/pids/libero-${process.pid}-[0-9a-f]{8}/tasks$`))
    expect(readFileSync(entrance.replace('tasks', 'pids.max'), 'utf8')).toBe('50')
  })

  test('is made in the one tree, where the controller is switched on there', () => {
    writeFileSync(join(at, 'cgroup.subtree_control'), 'cpu memory pids\n')
    const { entrance } = createProcessCgroup(50, at)
    expect(entrance).toMatch(new RegExp(`^${at}/libero-${process.pid}-[0-9a-f]{8}/cgroup.procs$`))
  })

  test('is gone when it is removed, and so are those of the dead', async () => {
    writeFileSync(join(at, 'cgroup.subtree_control'), 'pids\n')
    for (const name of ['libero-999999999-aaaaaaaa', 'other-999999999-x']) mkdirSync(join(at, name))
    const group = createProcessCgroup(50, at)
    await rm(group.entrance.replace('cgroup.procs', 'pids.max')) // the kernel's own files are no obstacle
    await group.remove()
    await group.remove()
    expect(readdirSync(at).sort()).toEqual(['cgroup.subtree_control', 'other-999999999-x'])
  })

  test('is refused where it cannot be, with what to do', () => {
    const refusal =
      /cannot be limited for root here: .*Run as another user, or .*leave `processes` out .* process context.*processes: 0/
    expect(() => createProcessCgroup(50, join(at, 'none'))).toThrow(refusal)
    writeFileSync(join(at, 'cgroup.subtree_control'), 'cpu memory\n')
    expect(() => createProcessCgroup(50, at)).toThrow(refusal)
  })
})
