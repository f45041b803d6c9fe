import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MockService, type Step, startMockService } from '../rpc/mock-service.ts'
import { temporary } from '../temporary.ts'
import { openDesk } from './cli-kit.ts'
import { startInTerminal } from './pseudo-terminal.ts'

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

const before = 'one\ntwo\nthree\n'
const change = (old_string: string, new_string: string) => ({ old_string, new_string })
const edits = [change('one', '1'), change('two', '2'), change('three', '3')]
const step: readonly Step[] = [{ call: 'multi_edit', args: { path: 'a.txt', edits } }]

function openProject() {
  const desk = openDesk(service.url)
  desk.write('a.txt', before)
  return { desk, content: () => readFileSync(join(desk.cwd, 'a.txt'), 'utf8') }
}

test('HK07 a client of the event lines decides about each edit, and is told when it forgot one', async () => {
  const { desk, content } = openProject()
  service.play(step, [{ say: 'Done.' }])
  const running = desk.start(['--events', '--prompt', 'change it'])
  const send = (command: object): boolean => running.child.stdin.write(`${JSON.stringify(command)}\n`)
  await running.until('"type":"request"')
  // biome-ignore lint/suspicious/noExplicitAny: a line of the wire
  const lines = (): any[] =>
    running.said.out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const { request, payload } = lines().find(({ type }) => type === 'request')
  expect(payload).toMatchObject({ edits: 3, preview: { files: [{ edits: [{ added: 1, removed: 1 }, {}, {}] }] } })
  const decisions = [{ decision: 'deny', note: 'keep it' }, { decision: 'allow' }, { decision: 'allow' }]
  send({ id: 'few', type: 'answer', request, value: { edits: decisions.slice(1) } })
  await running.until('"id":"few"')
  send({ id: 'all', type: 'answer', request, value: { edits: decisions } })
  await running.until('"run_ended"')
  running.child.stdin.end()
  expect((await running.ended).code).toBe(0)
  const replies = lines().filter(({ type }) => type === 'reply')
  expect(replies).toEqual([
    { type: 'reply', command: 'answer', id: 'few', ok: false, error: expect.stringContaining('a list of 3') },
    { type: 'reply', command: 'answer', id: 'all', ok: true },
  ])
  expect(content()).toBe('one\n2\n3\n')
  const answered = lines().find(({ entry }) => entry?.type === 'approval_answered')
  expect(answered.entry.edits).toEqual(decisions)
})

test('HK07 libero sessions answer allows some edits of a waiting call, and the resumed run makes those', async () => {
  const { desk, content } = openProject()
  service.play(step)
  expect((await desk.libero(['--prompt', 'change it'])).code).toBe(3)
  const { sessions } = JSON.parse((await desk.libero(['sessions', 'list', '--json'])).out)
  const { id } = sessions[0]
  const answer = (...words: string[]) => desk.libero(['sessions', 'answer', id, ...words])
  expect((await answer()).out).toContain('It has 3 edits; allow only some of them with: allow --edits 1,2\n')
  expect(await answer('allow', '--edits', '1,4')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--edits takes numbers from 1 to 3 with commas between them, got "4"'),
  })
  expect((await answer('deny', '--edits', '1')).err).toContain('--edits needs allow')
  const given = await answer('allow', '--edits', '1,3', '--note', 'two is a name')
  expect(given.err).toContain('Allowed, for this once, edits 1,3 only: multi_edit')
  expect(content()).toBe(before)
  service.play([{ say: 'Done.' }])
  expect((await desk.libero(['sessions', 'resume', id])).code).toBe(0)
  expect(content()).toBe('1\ntwo\n3\n')
  const shown = (await desk.libero(['sessions', 'show', id])).out
  expect(shown).toContain('Allowed 2 of 3 edits by')
  expect(JSON.stringify(service.requests.at(-1))).toContain('edit #2: denied: two is a name')
})

test.each([
  [80, 24],
  [40, 24],
])(
  'HK10 at a terminal of %i columns each edit is shown and asked about, and Enter alone means no',
  async (columns, rows) => {
    const folder = await temporary('single-edits-')
    writeFileSync(join(folder, 'a.txt'), before)
    const RESULT = join(folder, 'result.json')
    const child = fileURLToPath(new URL('./person-child.ts', import.meta.url))
    const program = [
      process.execPath,
      '--conditions=libero-source',
      child,
      'edits',
      'one=1',
      'two=2',
      'three=3',
    ] as const
    const person = startInTerminal(program, { cwd: folder, env: { RESULT, LIBERO_HOME: folder }, columns, rows })
    await person.until(/e {2}decide on each edit\n.*▸ n {2}no\n.*Esc: no/s)
    person.type('e')
    await person.until(
      /Edit 1 of 3: \+1 −1.*│ -one\n│ \+1\n.*y {2}yes, make edit 1 of 3\n▸ n {2}no, leave it out.*Esc: no/s,
    )
    person.type('y')
    await person.until(/✓ allowed: edit 1 of 3\n.*Edit 2 of 3.*│ -two\n│ \+2\n.*▸ n {2}no.*Esc: no/s)
    person.type('r')
    await person.until('No, because:')
    person.type('a name\r')
    await person.until(
      /✗ not allowed \(a name\): edit 2 of 3\n.*Edit 3 of 3.*\n.*shown with the denied ones.*▸ n {2}no.*Esc: no/s,
    )
    person.type('\r')
    expect(await person.ended).toBe(0)
    expect(person.text()).toContain('✓ allowed 1 of 3 edits: multi_edit a.txt'.slice(0, columns - 2))
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('1\ntwo\nthree\n')
    expect(JSON.parse(readFileSync(RESULT, 'utf8')).results).toEqual([
      'Edited a.txt: 1/3 applied · 2 denied\nedit #1: applied\nedit #2: denied: a name\nedit #3: denied',
    ])
  },
)
