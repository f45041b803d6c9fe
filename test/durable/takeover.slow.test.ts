import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createFleet } from '../../src/durable/create-fleet.ts'
import { inProcessDispatcher } from '../../src/durable/dispatchers/in-process.ts'
import type { Fleet } from '../../src/durable/fleet.ts'
import { createSqliteStore } from '../../src/sessions/stores.ts'
import { compileCache } from '../compile-cache.ts'
import { eventually } from '../postgres-kit.ts'
import { temporary } from '../temporary.ts'
import { saidIn } from './fleet-kit.ts'
import { taskAgent } from './task-agent.ts'

const program = fileURLToPath(new URL('worker-process.ts', import.meta.url))

test('FL18 of two workers one is killed: the other takes its sessions over, and no tool runs twice', async () => {
  const { fleet, path, effects, recorded } = await place()
  const steps = ['before-tool', 'in-tool', 'after-tool']
  for (const step of steps) await fleet.send(step, { kind: 'stuck', prompt: 'Record it' })
  const killed = startWorker(path, effects)
  await eventually(() => recorded().length === 2)
  await eventually(async () => (await fleet.store.list({ status: 'working' })).sessions.length === 3)
  await kill(killed)

  const worker = fleet.work()
  await eventually(() => worker.status().takeovers === 3 && worker.status().running === 0)
  expect(recorded().toSorted()).toEqual(steps.toSorted())
  for (const step of steps) expect((await saidIn(fleet.store, step)).at(-1)).toBe('assistant: Done.')
  const unknown = (await fleet.store.read('in-tool')).filter(({ type }) => type === 'call_result')
  expect(unknown).toMatchObject([{ outcome: 'unknown' }])
})

test('FL19 of several sessions one ends its process: exactly that one is parked, and the others end', async () => {
  const { fleet, path, effects, recorded } = await place()
  const innocent = ['a', 'b', 'c', 'd']
  for (const id of innocent) await fleet.send(id, { kind: 'slow', prompt: 'Record it' })
  await fleet.send('killer', { kind: 'killer', prompt: 'Die' })
  let deaths = 0
  const isOver = async (): Promise<boolean> => {
    const ended = await Promise.all(innocent.map(async (id) => (await saidIn(fleet.store, id)).at(-1)))
    return ended.every((last) => last === 'assistant: Done.') && (await fleet.store.find('killer'))?.status === 'parked'
  }
  for (let starts = 0; starts < 12 && !(await isOver()); starts++) {
    const child = startWorker(path, effects)
    await eventually(async () => child.exitCode !== null || (await isOver()))
    if (child.exitCode !== null) deaths++
    else await kill(child)
  }
  expect(await isOver()).toBe(true)
  expect(
    recorded()
      .filter((line) => !line.startsWith('died'))
      .toSorted(),
  ).toEqual(innocent)
  expect((await fleet.store.list({ status: 'parked' })).sessions.map(({ id }) => id)).toEqual(['killer'])
  expect(deaths).toBe(8) // three among others, five alone
})

async function place(): Promise<{ fleet: Fleet; path: string; effects: string; recorded: () => string[] }> {
  const folder = await temporary('takeover-')
  const path = `${folder}/fleet.db`
  const effects = `${folder}/effects`
  const fleet = createFleet({
    ...{ store: createSqliteStore({ path }), dispatcher: inProcessDispatcher() },
    kinds: { stuck: ({ session }) => taskAgent(session, effects) },
  })
  onTestFinished(() => fleet.close())
  const recorded = (): string[] => (existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n') : [])
  return { fleet, path, effects, recorded }
}

function startWorker(path: string, effects: string): ChildProcess {
  const args = ['--conditions=libero-source', program, path, effects]
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...compileCache },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  onTestFinished(() => kill(child))
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}
