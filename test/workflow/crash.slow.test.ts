import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { sampleOf } from '../soak.ts'
import { temporary } from '../temporary.ts'

const child = fileURLToPath(new URL('crash-child.ts', import.meta.url))

interface Life {
  readonly signal: NodeJS.Signals | null
  readonly lines: readonly string[]
  readonly stderr: string
}

interface End {
  readonly state: string
  readonly messages: readonly { readonly key: string; readonly role: string; readonly content: string }[]
  readonly errors: readonly string[]
}

interface Death {
  readonly diesAt?: number
  readonly diesAfterQuestion?: number
  readonly killMs?: number
}

/** Until it ends by itself or is killed: at a failpoint, counted from the start or the question, or after a time. */
function live(folder: string, { diesAt = 0, diesAfterQuestion = 0, killMs }: Death = {}): Promise<Life> {
  const process_ = spawn(
    process.execPath,
    ['--no-warnings', '--conditions=libero-source', child, folder, `${diesAt}`, `${diesAfterQuestion}`],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', LIBERO_HOME: `${folder}/home` },
    },
  )
  let [stdout, stderr] = ['', '']
  const tooLong = setTimeout(() => process_.kill('SIGKILL'), 40_000)
  process_.stdout.on('data', (chunk: Buffer) => {
    if (stdout === '' && killMs !== undefined) setTimeout(() => process_.kill('SIGKILL'), killMs)
    stdout += chunk.toString()
  })
  process_.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  return new Promise((resolve) => {
    process_.on('close', (_, signal) => {
      clearTimeout(tooLong)
      resolve({ signal, lines: stdout.split('\n').filter(Boolean), stderr })
    })
  })
}

const endOf = ({ lines, stderr }: Life): End => {
  const last = lines.at(-1) ?? ''
  if (!last.startsWith('{')) throw new Error(`it did not come to its end: ${lines.join(' | ')} ${stderr}`)
  return JSON.parse(last) as End
}

/** Whether all is there, once, whatever happened on the way. */
function check(folder: string, { state, messages, errors }: End): void {
  expect({ state, errors }).toEqual({ state: 'completed', errors: [] })
  const sent = existsSync(`${folder}/sent.txt`) ? readFileSync(`${folder}/sent.txt`, 'utf8').trim().split(' ') : []
  expect(new Set(sent).size).toBe(sent.length) // nothing that counts was done twice
  expect(new Set(messages.map(({ key }) => key)).size).toBe(messages.length)
  const told = messages.map(({ role, content }) => `${role}: ${content}`)
  expect(
    told.map((text) => text.replace(/^tool: .*?(sent \d|unknown|Interrupted|interrupted).*$/s, 'tool: mail')),
  ).toEqual([
    'user: Write to all.',
    'assistant: Looking',
    ...anyOrder(told.slice(2, 4), 'tool: seen'),
    'assistant: ',
    ...anyOrder(told.slice(5, 8), 'tool: seen'),
    'assistant: ',
    expect.stringMatching(/^tool: .*red/s),
    'assistant: ',
    'tool: mail',
    'assistant: All is done.',
  ])
  // What says that it was sent was sent.
  for (const text of told) {
    const n = /^tool: sent (\d)/.exec(text)?.[1]
    if (n) expect(sent).toContain(n)
  }
}

/** One look and its neighbours, in the order in which they came in. */
const anyOrder = (texts: readonly string[], look: string): string[] =>
  texts.map((text) => (text === look ? look : 'tool: mail'))

describe('a process that is killed', { timeout: 180_000 }, () => {
  test('never: for comparison, with the failpoints it passes', async () => {
    const folder = await temporary('workflow-crash-')
    const end = endOf(await live(folder))
    check(folder, end)
    expect(readFileSync(`${folder}/sent.txt`, 'utf8').trim().split(' ')).toEqual(['1', '2', '3', '4'])
  })

  test('at failpoints: the next one reaches the same messages, and nothing is done or sent twice', async () => {
    const folder = await temporary('workflow-crash-')
    const points = sampleOf([9, 31, 17, 43, 23, 37, 29, 41, 19, 47, 53, 26, 34, 61, 67], 5)
    let kills = 0
    let life = await live(folder, { diesAt: points[0]! })
    while (life.signal === 'SIGKILL' && kills < points.length)
      life = await live(folder, { diesAt: points[++kills] ?? 0 })
    expect(kills).toBeGreaterThan(2)
    check(folder, endOf(life))
  })

  test.each(sampleOf([1, 2, 3], 1))('at any moment (%i)', async (seed) => {
    const folder = await temporary('workflow-crash-')
    // Longer each time: three deaths in a row without any progress would park the session.
    const spans = [20, 45, 90, 180, 360].map((ms) => (ms * (seed + 3)) / 4)
    let life: Life | undefined
    for (const killMs of spans) {
      life = await live(folder, { killMs })
      if (life.signal === null) break
    }
    if (life?.signal !== null) life = await live(folder)
    check(folder, endOf(life))
  })

  // As soon as it says that it was asked it is answered; so it dies a few points after that.
  test.each(sampleOf([1, 2, 3, 5, 8, 13], 1))(
    'when it has asked, %i failpoints later: the question is still there, for the next one to answer',
    async (diesAfterQuestion) => {
      const folder = await temporary('workflow-crash-')
      const { signal, lines } = await live(folder, { diesAfterQuestion })
      expect([signal, lines]).toEqual(['SIGKILL', ['begun', 'asked']])
      const store = createSqliteStore({ path: `${folder}/s.db` })
      const entries = await store.read('agent-x')
      await store.close?.()
      expect(entries.some((entry) => entry.type === 'call_started' && entry.callId === 'question')).toBe(true)
      check(folder, endOf(await live(folder)))
    },
  )
})
