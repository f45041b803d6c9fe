import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import { testInTurns } from '../../../test/soak.ts'
import { systemClock } from '../../core/clock.ts'
import type { Grant } from './grant.ts'
import { createGrantFile } from './grant-file.ts'
import { createGrants, type Grants } from './grants.ts'

const test = testInTurns(2)

const about: Omit<Grant, 'grantedAt' | 'key'> = {
  ...{ tool: 'shell', origin: { layer: 'bundled' }, scope: 'project', project: '/desk' },
  ...{ covers: 'every `ls` in this project that only reads', grantedBy: 'ada' },
}
let folder: string
let children: ChildProcess[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'libero-grants-'))
  children = []
})

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

describe('among processes', { timeout: 60_000 }, () => {
  test('concurrent grants and revocations of several processes are all applied', async () => {
    const code = `
      for (let i = 0; i < 10; i++) {
        await grants.add({ ...about, key: process.pid + ' kept ' + i })
        await grants.add({ ...about, key: process.pid + ' gone ' + i })
        await grants.revoke(({ key }) => key === process.pid + ' gone ' + i)
      }`
    const exits = [1, 2, 3].map(() => once(start(code), 'exit'))
    expect(await Promise.all(exits)).toEqual(Array(3).fill([0, null]))
    const keys = (await load()).list().map(({ key }) => key)
    expect(keys).toHaveLength(30)
    expect(keys.every((key) => key.includes('kept'))).toBe(true)
    expect(await readdir(join(folder, 'home'))).toEqual(['grants.json'])
  })

  test('a process that revokes takes the approval from one that is running', async () => {
    const here = await load()
    await here.add({ ...about, key: 'ls' })
    const { covers: _, scope: __, grantedBy: ___, ...at } = about
    const wanted = { ...at, key: 'ls', sessionIds: ['s'] }
    expect(here.find(wanted)).toBeDefined()
    expect(await once(start('await grants.revoke(() => true)'), 'exit')).toEqual([0, null])
    await here.load()
    expect(here.find(wanted)).toBeUndefined()
  })

  test('a process killed while writing leaves a valid file, and blocks no other process', async () => {
    const child = start(`
      console.log('ready')
      for (let i = 0; ; i++) await grants.add({ ...about, key: 'k' + i })`)
    await once(child.stdout!, 'data')
    const here = await load()
    for (let i = 0; i < 1_000 && here.list().length < 5; i++) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      await here.load()
    }
    child.kill('SIGKILL')
    await once(child, 'exit')
    await here.add({ ...about, key: 'after' })
    const keys = here.list().map(({ key }) => key)
    expect(keys.length).toBeGreaterThanOrEqual(6)
    expect(keys).toEqual([...Array.from({ length: keys.length - 1 }, (_, i) => `k${i}`), 'after'])
  })

  test('concurrent processes get the same answer key', async () => {
    const code = `
      const key = await openAnswerKey(home)
      console.log(key.id)`
    const ids = await Promise.all(Array.from({ length: 6 }, () => outputOf(start(code))))
    expect(ids[0]).toMatch(/^[0-9a-f]{16}\n$/)
    expect(new Set(ids).size).toBe(1)
    expect(await readFile(join(folder, 'home', 'approval.key'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
  })
})

async function load(): Promise<Grants> {
  const grants = createGrants({ clock: systemClock, store: createGrantFile(join(folder, 'home', 'grants.json')) })
  await grants.load()
  return grants
}

function start(code: string): ChildProcess {
  const at = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href)
  const script = `
    import { systemClock } from ${at('../../core/clock.ts')}
    import { createGrantFile } from ${at('grant-file.ts')}
    import { createGrants } from ${at('grants.ts')}
    import { openAnswerKey } from ${at('answer-key.ts')}
    const home = ${JSON.stringify(join(folder, 'home'))}
    const about = ${JSON.stringify(about)}
    const grants = createGrants({ clock: systemClock, store: createGrantFile(home + '/grants.json') })
    await grants.load()
    ${code}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

async function outputOf(child: ChildProcess): Promise<string> {
  let text = ''
  child.stdout!.on('data', (chunk) => (text += chunk))
  await once(child, 'close')
  return text
}
