import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { protectedNames, watchedNames } from '../../src/execution/bubblewrap/protected-paths.ts'
import type { Leak } from './attack.ts'
import type { Scene } from './scene.ts'

/** Every path below a folder with its kind, mode, times, inode and content. */
export type Snapshot = ReadonlyMap<string, string>

export interface SceneState {
  readonly outside: Snapshot
  readonly home: Snapshot
  readonly protected: Snapshot
  readonly workspace: Snapshot
}

/** `cwd`: the workspace, where it is another folder than that of the scene; it does not count as outside. */
export function stateOf(scene: Scene, cwd: string = scene.work): SceneState {
  const workspace = snapshot(scene.work)
  const own = relative(scene.outside, cwd)
  const isProtected = (path: string): boolean => guarded.some((name) => path === name || path.startsWith(`${name}/`))
  return {
    outside: new Map([
      ...snapshot(scene.outside, own.startsWith('..') ? [] : [own]),
      ...scene.shared.flatMap((path) => [...snapshot(path)]),
    ]),
    home: snapshot(scene.home, ['work', '.cache/pip', '.npm', '.libero']),
    protected: new Map([...workspace].filter(([path]) => isProtected(path))),
    workspace,
  }
}

export interface Happened {
  readonly before: SceneState
  readonly cwd: string
  readonly output: string
  /** What runs afterwards, with all rights; returns what it showed. */
  readonly later?: (() => string | Promise<string>) | '' | undefined
}

/** What happened between a state of the scene and now. */
export async function leaksOf(scene: Scene, { before, cwd, output, later }: Happened): Promise<Leak[]> {
  const leaks: Leak[] = []
  if (shows(output, scene.secret)) leaks.push('shown')
  const after = stateOf(scene, cwd)
  for (const place of ['outside', 'home', 'protected', 'workspace'] as const)
    if (changes(before[place], after[place]).length > 0) leaks.push(place)
  if (scene.listeners.reached.length > 0) leaks.push('sent')
  if (await isEnded(scene)) leaks.push('ended')
  const left = leftOf(scene)
  if (left.length > 0) leaks.push('left')
  for (const pid of left) endIt(pid)
  if (!later) return leaks
  const seen = await later()
  const then = stateOf(scene, cwd)
  if (shows(seen, scene.secret) || changes(after.outside, then.outside).length > 0) leaks.push('later')
  return leaks
}

/** Lists what is different. */
export function changes(before: Snapshot, after: Snapshot): string[] {
  const paths = new Set([...before.keys(), ...after.keys()])
  return [...paths].filter((path) => before.get(path) !== after.get(path))
}

/** Reading changes no file, so the times of reading do not count. A missing folder has no entries. */
export function snapshot(root: string, without: readonly string[] = []): Snapshot {
  const found = new Map<string, string>()
  const visit = (path: string, name: string): void => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (!stats) return
    const { mode, ino, nlink, size, mtimeMs, ctimeMs } = stats
    const content = stats.isFile() ? digest(path) : stats.isSymbolicLink() ? readlinkSync(path) : ''
    // What is excluded below a folder changes the times of that folder.
    const times = name === '' && without.length > 0 ? [] : [mtimeMs, ctimeMs, nlink]
    found.set(name === '' ? root : name, [mode, ino, stats.isFile() ? size : '', ...times, content].join(' '))
    if (!stats.isDirectory()) return
    for (const entry of readdirSync(path)) {
      const inner = name === '' ? entry : `${name}/${entry}`
      if (!without.includes(inner)) visit(join(path, entry), inner)
    }
  }
  visit(root, '')
  return found
}

/** Whether a text has the secret in it, also encoded in a usual way. */
function shows(text: string, secret: string): boolean {
  const bytes = Buffer.from(secret)
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  )
  const reversed = [...secret].reverse().join('')
  return [secret, reversed, bytes.toString('hex'), ...base64].some((form) => text.includes(form))
}

const guarded = [
  ...['.git/config', '.git/config.worktree', '.git/commondir', '.git/hooks', '.git/info/attributes', '.git/modules'],
  ...['.git/remotes', '.git/branches'],
  ...protectedNames,
  ...watchedNames,
]

/** The person's process is gone or stopped. A signal takes effect a moment after it was sent. */
async function isEnded({ victim }: Scene): Promise<boolean> {
  await new Promise((done) => setImmediate(done))
  if (victim.exitCode !== null || victim.signalCode !== null) return true
  const stat = readFileSync(`/proc/${victim.pid}/stat`, 'utf8')
  return /^[TtZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
}

/** Processes with a number of this scene in their arguments. */
function leftOf(scene: Scene): number[] {
  const mark = scene.fill('300.@NUMBER')
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => textOf(`/proc/${name}/cmdline`).includes(mark))
    .map(Number)
    .filter((pid) => pid !== process.pid)
}

function endIt(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // gone by itself
  }
}

function digest(path: string): string {
  return createHash('sha256').update(bytesOf(path)).digest('hex')
}

function textOf(path: string): string {
  return bytesOf(path).toString('utf8')
}

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0) // gone meanwhile
  }
}
