import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createSqliteStore } from '../../src/index.ts'
import { compileCache } from '../compile-cache.ts'
import { rounds } from '../soak.ts'
import { until } from './server-kit.ts'
import { openReceiver } from './webhook-receiver.ts'

const program = fileURLToPath(new URL('webhook-process.ts', import.meta.url))
const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`

/** Runs the program until it says something, with `isDone` until that is so, or until it ends; then kills it. */
async function run(args: readonly unknown[], isDone?: () => boolean): Promise<void> {
  const child = spawn(process.execPath, ['--conditions=libero-source', program, ...args.map(String)], {
    env: { ...process.env, ...compileCache, SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  onTestFinished(() => void child.kill('SIGKILL'))
  let isOver = false
  child.once('exit', () => (isOver = true))
  child.stdout.once('data', () => (isOver ||= !isDone))
  await until(() => isOver || isDone?.() === true)
  child.kill('SIGKILL')
  await ended
}

test('SV68 a server killed before and after the note about a delivery, again and again, loses no event and keeps their order', {
  timeout: 300_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'libero-webhook-kills-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 's.sqlite')
  const receiver = await openReceiver()
  receiver.answer = (_, response) => void response.writeHead(500).end()
  await run([path, receiver.url, 0, rounds(3, 10)])
  receiver.answer = (_, response) => void response.end()
  receiver.received.length = 0 // those were refused
  const notes = [1, -1, 2, -2]
  for (let kill = 0; kill < rounds(3, 8); kill++) await run([path, receiver.url, notes[kill % 4]], () => false)

  const store = createSqliteStore({ path })
  onTestFinished(() => store.close?.())
  const wanted: string[] = []
  for (const { id } of (await store.list({ prefix: 's' })).sessions)
    for (const { seq, type } of await store.read(id)) if (type === 'run_ended') wanted.push(`${id}-${seq}`)
  expect(wanted).toHaveLength(2 * rounds(3, 10))
  const told = (): string[] => receiver.received.map(({ id }) => id.split('-').slice(0, 2).join('-'))
  await run([path, receiver.url, 0], () => wanted.every((one) => told().includes(one)))

  expect(receiver.verified(secret)).toHaveLength(receiver.received.length)
  expect(new Set(told())).toEqual(new Set(wanted))
  // By session, the first time of each event is in the order of the log.
  const firsts = [...new Set(told())]
  for (const id of new Set(firsts.map((one) => one.split('-')[0]))) {
    const numbers = firsts.flatMap((one) => (one.startsWith(`${id}-`) ? [Number(one.split('-')[1])] : []))
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  }
})
