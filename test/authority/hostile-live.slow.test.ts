import { spawn } from 'node:child_process'
import { access, chmod, constants, cp, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sampleOf } from '../soak.ts'
import { type HostileLine, hostileLines } from './hostile-lines.ts'

const folders = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
  dirname(process.execPath),
]
let base: string

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'libero-hostile-'))
  await layOut(join(base, 'pattern'))
})

afterAll(() => rm(base, { recursive: true, force: true }))

/** A line without effect proves nothing: it may have been stopped for the wrong reason. */
test('each hostile line of a sample does in plain bash what it must not', { timeout: 240_000 }, async () => {
  const skipped: string[] = []
  const dead: string[] = []
  const runnable = hostileLines.filter((line) => line.judgedOnly === undefined)
  const waiting = sampleOf(runnable, runnable.length / 8).entries()
  const worker = async () => {
    for (const [i, line] of waiting) {
      const missing = await firstMissing([...(line.needs ?? []), ...(line.pty ? ['script'] : [])])
      if (missing !== undefined) skipped.push(`${line.row} ${line.cmd} needs ${missing}`)
      else if (!(await isLive(line, join(base, String(i))))) dead.push(`${line.row} ${JSON.stringify(line.cmd)}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  for (const line of skipped) console.warn(`not tried: ${line}`)
  expect(dead).toEqual([])
  expect(skipped.length).toBeLessThan(50)
})

/** The folder of every line: f.txt, helper.sh, a repository with both; a home of its own beside it. */
async function layOut(folder: string): Promise<void> {
  const work = join(folder, 'work')
  await mkdir(work, { recursive: true })
  for (const own of ['home', 'loc']) await mkdir(join(folder, own))
  await writeFile(join(folder, 'home', '.gitconfig'), '[user]\nname = a\nemail = a@localhost\n')
  await writeFile(join(work, 'f.txt'), 'hello\nworld\n')
  await writeFile(join(work, 'helper.sh'), '#!/bin/sh\n: > "$CANARY"\n')
  await chmod(join(work, 'helper.sh'), 0o755)
  const made = await bash(folder, 'git init -q --template= . && mkdir .git/hooks && git add -A && git commit -qm one')
  if (made !== 0) throw new Error(`git could not make the repository for the hostile lines (exit ${made})`)
}

async function isLive(line: HostileLine, folder: string): Promise<boolean> {
  // The repository is most of the files, and most lines have nothing to do with it.
  const isAboutGit = /git|npm/.test(`${line.cmd} ${line.setup} ${line.proof}`)
  const filter = (path: string): boolean => isAboutGit || basename(path) !== '.git'
  await cp(join(base, 'pattern'), folder, { recursive: true, filter })
  if (line.setup !== undefined) await bash(folder, line.setup)
  await bash(folder, line.cmd, line.pty)
  // What it started may still be at it.
  for (let i = 0; i < 40; i++) {
    if (
      line.proof === undefined ? await isThere(join(folder, 'work', 'canary')) : (await bash(folder, line.proof)) === 0
    )
      return true
    await sleep(50)
  }
  return false
}

/** Runs a line in its folder with an environment of its own, for ten seconds at most, and ends all it started. */
async function bash(folder: string, line: string, pty?: true): Promise<number | null> {
  const work = join(folder, 'work')
  const err = await open(join(folder, 'err'), 'a')
  const env = {
    PATH: folders.join(delimiter),
    HOME: join(folder, 'home'),
    CANARY: join(work, 'canary'),
    LOCPATH: join(folder, 'loc'),
    LINE: line,
  }
  const args = pty ? ['-c', 'exec script -qec \'bash --norc -c "$LINE"\' /dev/null'] : ['-c', line]
  try {
    const child = spawn('/bin/bash', ['--noprofile', '--norc', ...args], {
      cwd: work,
      env,
      stdio: ['ignore', 'ignore', err.fd],
      detached: true,
    })
    const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), 10_000)
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code) => {
        clearTimeout(timer)
        resolve(code)
      })
    })
  } finally {
    await err.close()
  }
}

async function firstMissing(programs: readonly string[]): Promise<string | undefined> {
  for (const program of programs) {
    const mode = program.startsWith('/') ? constants.R_OK : constants.X_OK
    const found = await Promise.all(folders.map((folder) => isThere(resolve(folder, program), mode)))
    if (!found.includes(true)) return program
  }
  return undefined
}

function isThere(path: string, mode = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}
