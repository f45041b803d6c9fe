import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { nobodyCanRunNode } from '../../../test/as-nobody.ts'
import { emptyFolder, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { confinedPlace, write } from '../../../test/confinement-kit.ts'
import { processIds } from '../../platform/leftover-processes.ts'

const child = fileURLToPath(new URL('../../../test/confinement-child.ts', import.meta.url))
const childArgs = ['--conditions=libero-source', child]

describe.skipIf(unavailable)(`spare sandboxes${skipped}`, () => {
  test('a spare shows what is there when its command begins: other content, another folder, a file that was hidden', async () => {
    const { top, cwd, run } = await confinedPlace()
    write(cwd, { 'a.txt': 'first', '.env': 'canary' })
    const hidden = [join(cwd, '.env')]
    expect(await run('cat a.txt .env', { hidden })).toMatchObject({ stdout: 'first', exitCode: 1 })
    // As editors and git write: the cover of the waiting sandbox goes with the file that it covers.
    write(cwd, { 'a.txt': 'second', '.env.new': 'canary' })
    renameSync(join(cwd, '.env.new'), join(cwd, '.env'))
    expect(await run('cat a.txt .env', { hidden })).toMatchObject({ stdout: 'second', exitCode: 1 })
    renameSync(cwd, join(top, 'moved'))
    mkdirSync(cwd)
    write(cwd, { 'a.txt': 'third' })
    expect(await run('cat a.txt', { hidden })).toMatchObject({ stdout: 'third' })
  })

  test('W03 nothing is left of commands, spares and placeholders when this process is killed', async () => {
    const cwd = emptyFolder()
    const harness = spawn(process.execPath, [...childArgs, 'hang', cwd], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void harness.kill('SIGKILL'))
    await new Promise((resolve) => harness.stdout.once('data', resolve))
    // The running sandbox and the spare, each of bubblewrap twice and a shell, and the command.
    const started = () => descendants(harness.pid!).filter((pid) => !commandOf(pid).includes('libero-keeper'))
    await until(() => started().length >= 7)
    const before = started()
    expect(readdirSync(cwd)).toContain('.vscode') // a placeholder
    harness.kill('SIGKILL')
    await until(() => before.every((pid) => commandOf(pid) === '') && readdirSync(cwd).length === 0)
    expect(before.filter((pid) => commandOf(pid) !== '')).toEqual([])
    expect(readdirSync(cwd)).toEqual([])
  })

  test('a spare does not keep this process from ending', () => {
    const options = { encoding: 'utf8', timeout: 20_000 } as const
    const { stdout, status } = spawnSync(process.execPath, [...childArgs, 'end', emptyFolder()], options)
    expect([stdout.trim(), status]).toEqual(['ended', 0])
  })

  test.skipIf(!nobodyCanRunNode)('W09 an ordinary user has the same sandbox', () => {
    const [cwd, tmp, home] = [emptyFolder(), emptyFolder('tmp-'), emptyFolder('home-')]
    for (const folder of [cwd, tmp, home]) chmodSync(folder, 0o777)
    write(home, { '.ssh/id': 'canary' })
    write(cwd, { 'a.txt': 'inside' })
    const command = `id -u; cat a.txt; cat ${home}/.ssh/id; touch x; (exec 3<>/dev/tcp/127.0.0.1/1); ls -A ~`
    const user = ['--reuid=1000', '--regid=1000', '--clear-groups', process.execPath]
    const done = spawnSync('setpriv', [...user, ...childArgs, 'run', cwd, command, command], {
      ...{ encoding: 'utf8', timeout: 30_000 },
      env: { PATH: process.env.PATH, HOME: home, TMPDIR: tmp },
    })
    expect(done.stderr).toBe('')
    const [support, ...results] = done.stdout.trim().split('\n')
    expect(JSON.parse(support ?? '')).toMatchObject({ by: 'bubblewrap' })
    for (const one of results) expect(JSON.parse(one)).toEqual({ stdout: '1000\ninside', exitCode: 0 })
    expect(results).toHaveLength(2)
    expect(existsSync(join(cwd, 'x'))).toBe(false)
  })
})

function descendants(pid: number): number[] {
  const children = [...(processIds() ?? [])].filter((one) => parentOf(one) === pid)
  return children.flatMap((one) => [one, ...descendants(one)])
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)$/m.exec(read(pid, 'status'))?.[1])
}

/** Empty if the process is gone. */
function commandOf(pid: number): string {
  return read(pid, 'cmdline')
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

async function until(isSo: () => boolean): Promise<void> {
  for (let n = 0; n < 500 && !isSo(); n++) await new Promise((resolve) => setTimeout(resolve, 20))
}
