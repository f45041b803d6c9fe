import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { begun, emptyFolder, place, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'

const stopping: ChildProcess[] = []
afterEach(() => {
  for (const child of stopping.splice(0)) child.kill('SIGKILL')
})

/** Writes into all files that any process of the sandbox has open. */
function intoAllFiles(text: string): string {
  return `for f in /proc/[0-9]*/fd/*; do [ ! -f $f ] || printf '%s\\n' '${text}' > $f; done 2>/dev/null`
}

describe.skipIf(unavailable)(`what a command writes where the sandbox reports${skipped}`, () => {
  test('the report is open in no process when the command begins', async () => {
    const { run } = await place()
    const { stdout } = await run('readlink /proc/[0-9]*/fd/*')
    expect(stdout).toContain('socket:')
    expect(stdout).not.toMatch(/\/(status|report|args)-/)
  })

  test.each(['folder', 'the network is gone', '{ "exit-code": 1 }'])('"%s" is not believed', async (text) => {
    const { run, cwd } = await place({ cwd: repository() })
    const command = `echo /elsewhere > .yarnrc.yml; ${intoAllFiles(text)}; echo ran; exit 3`
    expect(await run(command)).toMatchObject({ stdout: 'ran\n', exitCode: 3 })
    expect(existsSync(join(cwd, '.yarnrc.yml'))).toBe(false)
  })

  test('what must not stay is taken away, however the command ended', async () => {
    const cwd = repository()
    const { run, context, handle } = await place({ cwd })
    const command = 'echo /elsewhere > .yarnrc.yml; echo > begun; sleep 30'
    const unwanted = join(cwd, '.yarnrc.yml')
    expect(await run(command, { timeout: 300 })).toMatchObject({ timedOut: true })
    expect(existsSync(unwanted)).toBe(false)

    rmSync(join(cwd, 'begun'), { force: true })
    const stop = new AbortController()
    const aborted = run(command, { signal: stop.signal }).catch(() => {})
    await begun(cwd)
    stop.abort()
    await aborted
    expect(existsSync(unwanted)).toBe(false)

    const failing = run('echo /elsewhere > .yarnrc.yml; kill -9 $PPID')
    await failing.catch(() => {})
    expect(existsSync(unwanted)).toBe(false)

    rmSync(join(cwd, 'begun'), { force: true })
    const destroyed = run(command).catch(() => {})
    await begun(cwd)
    await context.destroy(handle)
    await destroyed
    expect(existsSync(unwanted)).toBe(false)
  })

  test('a command cannot name the processes that are asked to end', async () => {
    const victim = await otherSandbox()
    const { run } = await place()
    const result = await run(`${intoAllFiles(`{ "child-pid": ${victim.inside} }`)}; sleep 30`, { timeout: 700 })
    expect(result).toMatchObject({ timedOut: true })
    expect(readFileSync(`/proc/${victim.inside}/cmdline`, 'utf8')).toContain('sleep')
    expect([victim.child.exitCode, victim.child.signalCode]).toEqual([null, null])
  })
})

function repository(): string {
  const cwd = emptyFolder()
  mkdirSync(join(cwd, '.git/objects'), { recursive: true })
  mkdirSync(join(cwd, '.git/refs'))
  writeFileSync(join(cwd, '.git/HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(cwd, '.git/config'), '')
  return cwd
}

/** A program with a process namespace of its own, that is none of ours. */
async function otherSandbox(): Promise<{ child: ChildProcess; inside: number }> {
  const walls = ['--ro-bind', '/', '/', '--unshare-user', '--unshare-pid', '--proc', '/proc', '--die-with-parent']
  const child = spawn('bwrap', [...walls, 'sh', '-c', 'echo up; exec sleep 100'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  stopping.push(child)
  await once(child.stdout!, 'data')
  const [first] = childrenOf(child.pid!)
  const [inside] = childrenOf(first!)
  return { child, inside: inside! }
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}
