import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { ExecOptions, ExecResult, ExecutionContext, ExecutionHandle } from '../src/core/execution.ts'
import { type BubblewrapOptions, createBubblewrapContext } from '../src/execution/bubblewrap.ts'
import { findProgram, installCommand } from './system-programs.ts'

export const isRoot = process.getuid?.() === 0

/** Why sandboxes cannot be tested here; `undefined` when they can. */
export const unavailable = whyNot()
if (unavailable) console.warn(`NOT TESTED, the bubblewrap context: ${unavailable}`)

/** For the name of a test suite. */
export const skipped = unavailable ? ` (skipped: ${unavailable})` : ''

export interface TestPlace {
  readonly context: ExecutionContext
  readonly handle: ExecutionHandle
  readonly cwd: string
  run(command: string, options?: ExecOptions): Promise<ExecResult>
}

/** A sandbox around an empty folder, taken down after the test. */
export async function place(options: BubblewrapOptions = {}): Promise<TestPlace> {
  const cwd = options.cwd ?? emptyFolder()
  const context = createBubblewrapContext({ ...options, cwd })
  const handle = await context.spawn()
  const made = {
    context,
    handle,
    cwd,
    run: (command: string, given?: ExecOptions) => context.exec(handle, command, given),
  }
  onTestFinished(() => context.destroy(handle))
  return made
}

/** An empty folder for one test. Other users may look into the folder around it, where nothing else is. */
export function emptyFolder(name = 'w-'): string {
  const scratch = mkdtempSync(join(tmpdir(), 'libero-bubblewrap-test-'))
  chmodSync(scratch, 0o755)
  onTestFinished(() => rm(scratch, { recursive: true, force: true }))
  return mkdtempSync(join(scratch, name))
}

/** Waits for the file by which a command in that folder says that it runs. */
export async function begun(cwd: string): Promise<void> {
  for (let n = 0; n < 1000 && !existsSync(join(cwd, 'begun')); n++)
    await new Promise((resolve) => setTimeout(resolve, 10))
}

/** A command that starts children until it has so many, or cannot start more, and says how many there are. A shell would try on and on. */
export function startingChildren(most: number): string {
  return `perl -e 'for (1..${most}) { my $p = fork(); last unless defined $p; unless ($p) { sleep 20; exit } $n++ } print $n+0'`
}

function whyNot(): string | undefined {
  if (process.platform !== 'linux') return 'it is for Linux only'
  if (!findProgram('bwrap')) return `bwrap is not installed; \`${installCommand('bubblewrap')}\` installs it`
  // Not through our own code: when that is broken the tests must fail, not be skipped.
  const plain = ['--ro-bind', '/', '/', '--unshare-user', '--unshare-pid', '--unshare-net', '--proc', '/proc', 'true']
  const { status, stderr } = spawnSync('bwrap', plain, { encoding: 'utf8', timeout: 20_000 })
  return status === 0 ? undefined : `bwrap may not build a sandbox on this machine: ${stderr.trim()}`
}
