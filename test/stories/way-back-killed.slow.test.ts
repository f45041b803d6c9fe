import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createAgent, createProcessContext, createSqliteStore, loadSession } from '../../src/index.ts'
import { createSnapshots } from '../../src/snapshots/index.ts'
import { scripted } from '../../src/testing/index.ts'
import { compileCache } from '../compile-cache.ts'
import { rounds, sampleOf } from '../soak.ts'
import { temporary } from '../temporary.ts'

const child = fileURLToPath(new URL('way-back-child.ts', import.meta.url))

describe('killed with -9', () => {
  test('CK14 in a rollback, each file is old or new, and the next run leaves all of them old or all new, and says which', async () => {
    const { root, at } = await scene()
    const before = picture(at)
    await killed(root, 'run')
    const after = picture(at)
    keep(root)
    const points = (await killed(root, 'rollback')).split('\n').filter(Boolean)
    expect(picture(at)).toEqual(before)
    const named = points.filter((point) => /^(snapshot|rollback|commit)/.test(point))
    expect(new Set(named.map((point) => point.split('#')[0]))).toEqual(
      new Set(['commit.before', 'commit.after', ...rollbackPoints]),
    )
    const times = Array.from({ length: rounds(1, 60) }, () => Math.round(Math.random() * 1500))
    const outcomes: ('old' | 'new')[] = []
    for (const point of [...sampleOf(named, 2), ...times]) {
      again(root)
      await killed(root, 'rollback', point)
      for (const [name, text] of Object.entries(picture(at)))
        expect([point, name, [before[name], after[name]]]).toEqual([point, name, expect.arrayContaining([text])])
      const { said, turns } = await nextRun(root)
      const isDone = turns === 2 // the rewound conversation, and the new prompt with its answer
      expect([point, said, picture(at)]).toEqual([point, said, isDone ? before : after])
      expect([point, isDone && said === 'not begun']).toEqual([point, false])
      const [name = ''] = String(point).split('#')
      if (name === 'rollback.begun' || name === 'rollback.staged') expect([point, said]).toEqual([point, 'not begun'])
      if (afterItBegan.has(name)) expect([point, said]).toEqual([point, 'finished'])
      outcomes.push(isDone ? 'new' : 'old')
    }
    const done = outcomes.filter((outcome) => outcome === 'new').length
    console.log(`killed rollbacks: ${outcomes.length} kills, ${done} times all files were new then, else all old`)
    if (times.length > 1) expect(new Set(outcomes)).toEqual(new Set(['old', 'new']))
  }, 600_000)

  test('CK18 in a run, no snapshot is lost that was noted: its files come back, whatever was cut off', async () => {
    const { root, at } = await scene()
    const before = picture(at)
    keep(root)
    const points = (await killed(root, 'run')).split('\n').filter((point) => point.startsWith('snapshot'))
    expect(points.length).toBeGreaterThan(5)
    const taken = sampleOf(points, 1)
    for (const point of taken) {
      again(root)
      await killed(root, 'run', point)
      await killed(root, 'rollback by force')
      expect([point, picture(at)]).toEqual([point, before])
    }
    console.log(`killed runs: ${taken.length} kills during snapshots, all files came back`)
  }, 600_000)
})

const rollbackPoints = [
  ...['snapshot.scanned', 'snapshot.updated', 'snapshot.committed'],
  ...[
    'rollback.planned',
    'rollback.begun',
    'rollback.staged',
    'rollback.logged',
    'rollback.moved',
    'rollback.applied',
    'rollback.done',
  ],
]

const afterItBegan = new Set(rollbackPoints.slice(rollbackPoints.indexOf('rollback.logged')))

async function scene(): Promise<{ root: string; at: string }> {
  const root = await temporary('killed-')
  const at = join(root, 'work')
  mkdirSync(join(at, 'old'), { recursive: true })
  for (const name of ['a', 'b', 'c', 'run', 'old/x', 'old/y'])
    writeFileSync(join(at, name), `${name} ${'old '.repeat(5000)}`)
  symlinkSync('b', join(at, 'link'))
  chmodSync(join(at, 'run'), 0o644)
  return { root, at }
}

const parts = ['work', 'snapshots', 'sessions.db', 'sessions.db-wal', 'sessions.db-shm']

/** Keeps the scene as it is, for `again`. */
function keep(root: string): void {
  for (const part of parts)
    cpSync(join(root, part), join(root, 'kept', part), {
      recursive: true,
      verbatimSymlinks: true,
      force: true,
      filter: exists,
    })
}

const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

function again(root: string): void {
  for (const part of parts) {
    rmSync(join(root, part), { recursive: true, force: true })
    if (exists(join(root, 'kept', part)))
      cpSync(join(root, 'kept', part), join(root, part), { recursive: true, verbatimSymlinks: true })
  }
}

/** Lets the other process work, and ends it at a failpoint or after some milliseconds; resolves with what it printed. */
async function killed(root: string, work: string, point?: string | number): Promise<string> {
  const harness = spawn(process.execPath, ['--conditions=libero-source', child, root, work, String(point ?? '')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...compileCache },
  })
  let printed = ''
  let timer: NodeJS.Timeout | undefined
  harness.stdout.setEncoding('utf8').on('data', (text: string) => {
    // Its time counts from its first step on.
    if (printed === '' && typeof point === 'number') timer = setTimeout(() => harness.kill('SIGKILL'), point)
    printed += text
  })
  const [code, signal] = await once(harness, 'close')
  clearTimeout(timer)
  if (point === undefined) expect([code, signal]).toEqual([0, null])
  return printed
}

/** What the next process says of an interrupted rollback, and the turns of the conversation after its run. */
async function nextRun(root: string): Promise<{ said: string | undefined; turns: number }> {
  const execution = createProcessContext({ cwd: join(root, 'work') })
  let said: string | undefined
  const snapshots = createSnapshots({
    ...{ execution, store: join(root, 'snapshots') },
    onInterrupted: ({ outcome }) => {
      said = outcome
    },
  })
  const store = createSqliteStore({ path: join(root, 'sessions.db') })
  const session = await loadSession(store, 'one', { takeOver: true })
  const agent = createAgent({ provider: scripted('Hello.'), session, execution, extensions: [snapshots.extension] })
  await agent.run({ prompt: 'Hello?' })
  const turns = session.turns.length
  await agent.destroy()
  await store.close?.()
  return { said, turns }
}

/** Every file and link below a folder. */
function picture(root: string, under = ''): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(join(root, under)).sort()) {
    const path = join(under, name)
    const stats = lstatSync(join(root, path))
    if (name.startsWith('.libero-rollback')) continue
    if (stats.isSymbolicLink()) found[path] = `→ ${readlinkSync(join(root, path))}`
    else if (stats.isDirectory()) Object.assign(found, picture(root, path))
    else found[path] = `${stats.mode & 0o100 ? 'x' : '-'} ${readFileSync(join(root, path), 'utf8')}`
  }
  return found
}
