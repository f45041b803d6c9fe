import { expect, test } from 'vitest'
import { z } from 'zod'
import { createAuthority } from '../../src/authority/authority.ts'
import { answerKeyFromSecret } from '../../src/authority/grants/answer-key.ts'
import type { Prompt } from '../../src/authority/interaction/interactor-queue.ts'
import { parseEditOutcomesFromResult, withEditDecisions } from '../../src/core/edit-outcomes.ts'
import { parsePreview } from '../../src/core/tool.ts'
import { createAgent, createMemoryStore, createSession, defineTool, loadSession } from '../../src/index.ts'
import { call, memoryExecution, scripted } from '../../src/testing/index.ts'
import { edit, multiEdit } from '../../src/tools/index.ts'
import type { PendingAnswer, PendingCall, Session, ToolCallBlock } from '../../src/types.ts'
import { emptyView, foldEntries } from '../../src/view/session-view.ts'
import { guarded, noting } from './authority-kit.ts'

const rename = (old_string: string, new_string: string) => ({ old_string, new_string })
const allow = { decision: 'allow' } as const
const deny = (note?: string) => ({ decision: 'deny', ...(note !== undefined && { note }) }) as const

const edits = [rename('one', '1'), rename('two', '2'), rename('three', '3')]
const change = (id = '1', input: object = {}): ToolCallBlock =>
  call(id, 'multi_edit', { path: 'a.ts', edits, ...input })

const files = (): Record<string, string> => ({ 'a.ts': 'one\ntwo\nthree\n' })
const authority = { mode: 'ask', workspaceReads: 'allow', workspace: { root: '/project' } } as const

/** An agent whose every change is asked about. */
function desk(calls: readonly ToolCallBlock[], more: Parameters<typeof guarded>[2] & { batch?: true } = {}) {
  const { batch, ...options } = more
  const execution = memoryExecution({ files: files() })
  const settings = { ...authority, ...(batch && { batchPrompts: true }) }
  const agent = guarded([[...calls], 'done'], settings, { execution, tools: { multiEdit, edit }, ...options })
  return { ...agent, execution, content: () => execution.files.get('/project/a.ts') }
}

const someDenied = { edits: [allow, deny('keep this name'), allow] }

test('M09 HK01 HK02 the edits of a call are allowed and denied one by one, and the model reads what became of each', async () => {
  const { agent, content, results, prompts } = desk([change()], { answer: () => someDenied })
  await agent.run({ prompt: 'Go.' })
  expect(content()).toBe('1\ntwo\n3\n')
  const result = [
    'Edited a.ts: 2/3 applied · 1 denied',
    'edit #1: applied',
    'edit #2: denied: keep this name',
    'edit #3: applied',
  ].join('\n')
  expect(results()).toEqual([result])
  expect(parseEditOutcomesFromResult(result)).toEqual([
    { outcome: 'applied' },
    { outcome: 'denied', reason: 'keep this name' },
    { outcome: 'applied' },
  ])
  expect(prompts[0]!.payload.edits).toBe(3)
  expect(parsePreview(prompts[0]!.payload.preview)?.files[0]?.edits?.map(({ diff }) => diff)).toEqual([
    '@@ -1,3 +1,3 @@\n-one\n+1\n two\n three',
    '@@ -1,3 +1,3 @@\n 1\n-two\n+2\n three',
    '@@ -1,3 +1,3 @@\n 1\n 2\n-three\n+3',
  ])
})

test('M09 a tool that gets _outcomes in its input makes the allowed edits only', async () => {
  const execution = memoryExecution({ files: files() })
  const agent = createAgent({ provider: scripted([change()], 'done'), execution, tools: { multiEdit } })
  agent.hooks.hook('tool:gate', (ctx) => void (ctx.editDecisions = someDenied.edits))
  await agent.run({ prompt: 'Go.' })
  expect(execution.files.get('/project/a.ts')).toBe('1\ntwo\n3\n')
  expect(withEditDecisions({ path: 'a.ts' }, [allow])).toEqual({ path: 'a.ts', _outcomes: [allow] })
})

test('E04 a tool with a schema of a library gets the decisions beside what its schema made of the input', async () => {
  const input = z.object({ edits: z.array(z.string()), note: z.string().default('none') })
  const asyncInput = input.refine(async () => true)
  const got: unknown[] = []
  const more = { countEdits: () => 3, execute: (input: object) => `${got.push(input)}` }
  const tools = {
    defined: defineTool({ name: 'defined', description: '', input, ...more }),
    later: defineTool({ name: 'later', description: '', input: asyncInput, ...more }),
    plain: { spec: { name: 'plain', description: '', inputSchema: input }, ...more },
  }
  const calls = Object.keys(tools).map((name) => call(name, name, { edits: ['a', 'b', 'c'] }))
  const agent = createAgent({ provider: scripted(calls, 'done'), tools })
  agent.hooks.hook('tool:gate', (ctx) => void (ctx.editDecisions = someDenied.edits))
  await agent.run({ prompt: 'Go.' })
  const decided = { edits: ['a', 'b', 'c'], note: 'none', _outcomes: someDenied.edits }
  expect(got).toEqual([decided, decided, decided])
})

test('HK01 an answer that allows every edit is a plain yes, and one that denies every edit denies the call', async () => {
  const yes = desk([change()], { answer: () => ({ edits: [allow, allow, allow] }) })
  await yes.agent.run({ prompt: 'Go.' })
  expect(yes.results()).toEqual(['Edited a.ts: 3 edits, 3 replacements'])
  const no = desk([change()], { answer: () => ({ edits: [deny('a'), deny(), deny('c')] }) })
  await no.agent.run({ prompt: 'Go.' })
  expect(no.content()).toBe(files()['a.ts'])
  expect(no.results()[0]).toMatch(/^Blocked: ToolTerminal\/ApprovalDenied: denied by user: edit #1: a\nedit #3: c$/)
})

test('HK03 a call in which the model sends _outcomes is refused without a question to a person', async () => {
  const { agent, content, results, prompts } = desk([change('1', { _outcomes: [allow, allow, allow] })])
  await agent.run({ prompt: 'Go.' })
  expect(prompts).toEqual([])
  expect(content()).toBe(files()['a.ts'])
  expect(results()).toEqual([
    'Validation error: "_outcomes" comes from the person who decides about the edits; leave it out',
  ])
})

test.each([
  ['too few', [allow, deny()], /edits must be a list of 3/],
  ['too many', [allow, deny(), allow, allow], /edits must be a list of 3/],
  [
    'an unknown word',
    [allow, { decision: 'no' }, allow],
    /an object with scope, expiresAt, note, where, edits, rule, calls$/,
  ],
  [
    'an unknown field',
    [allow, { decision: 'deny', reason: 'x' }, allow],
    /an object with scope, expiresAt, note, where, edits, rule, calls$/,
  ],
])('HK04 an answer with %s is refused, and the question stays open', async (_, wrong, error) => {
  const answers: unknown[] = []
  const answer = ({ respond }: Prompt): unknown => {
    try {
      respond({ edits: wrong } as never)
    } catch (problem) {
      answers.push(String(problem))
    }
    return someDenied
  }
  const { agent, content } = desk([change()], { answer })
  await agent.run({ prompt: 'Go.' })
  expect(answers).toEqual([expect.stringMatching(error)])
  expect(content()).toBe('1\ntwo\n3\n')
})

test('HK04 the edits of a call that has one, or whose tool offers none, cannot be decided about', async () => {
  const single = call('1', 'edit', { path: 'a.ts', ...edits[0] })
  const problems: string[] = []
  const answer = ({ respond }: Prompt): unknown => {
    try {
      respond({ edits: [deny()] } as never)
    } catch (problem) {
      problems.push(String(problem))
    }
    return false
  }
  await desk([single], { answer }).agent.run({ prompt: 'Go.' })
  expect(problems).toEqual([expect.stringContaining('cannot be decided about one by one')])
})

test('HK05 which edits were denied is in the log, the decision and the audit, and counts once', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const { agent, records, prompts } = desk([change('1'), change('2')], {
    session,
    answer: () => ({ scope: 'session', ...someDenied }),
  })
  const decisions: unknown[] = []
  agent.hooks.hook('tool:decision', ({ decision }) => void decisions.push(decision))
  await agent.run({ prompt: 'Go.' })
  const decision = {
    verdict: 'allow',
    by: 'person',
    why: 'user allowed 2 of its 3 edits',
    edits: someDenied.edits,
  }
  expect(decisions[0]).toMatchObject(decision)
  expect(records.find(({ event }) => event === 'ApprovalGranted')).toMatchObject({ decision, approver: 'user' })
  const entry = (await store.read('s')).find(({ type }) => type === 'approval_answered')
  expect(entry).toMatchObject({ decision: 'allow', edits: someDenied.edits, mac: expect.any(String) })
  expect(entry).not.toHaveProperty('scope')
  expect(prompts.length).toBeGreaterThan(0)
  expect(records.filter(({ event }) => event === 'InteractionAnswered')).toHaveLength(prompts.length)
})

/** A session whose call waits for an answer, and what happens when it is continued after one. */
async function waiting(more: Parameters<typeof guarded>[2] = {}) {
  const store = createMemoryStore()
  const answerSecret = new Uint8Array(32).fill(7)
  const session = await createSession({ store, id: 's' })
  const execution = memoryExecution({ files: files() })
  const options = { execution, tools: { multiEdit, edit }, ...more }
  const settings = { ...authority, answerSecret, interactors: [] }
  await guarded([[change()]], settings, { ...options, session }).agent.run({ prompt: 'Go.' })
  const desk = createAuthority({ answerSecret })
  return {
    store,
    session,
    desk,
    content: () => execution.files.get('/project/a.ts'),
    async resume() {
      const { agent, results } = guarded(['done'], settings, { ...options, session: await loadSession(store, 's') })
      const invalid: string[] = []
      agent.hooks.hook('approval:invalid', ({ reason }) => void invalid.push(reason))
      const { status } = await agent.run()
      return { status, invalid, results: results() }
    },
  }
}

test('HK07 HK09 single edits of a waiting call are decided through the session, and the run continues with that', async () => {
  const { session, desk, resume, content, store } = await waiting()
  await desk.answer(session, '1', { decision: 'allow', by: 'ann', ...someDenied })
  expect(await resume()).toEqual({
    status: 'completed',
    invalid: [],
    results: [expect.stringContaining('2/3 applied · 1 denied\n')],
  })
  expect(content()).toBe('1\ntwo\n3\n')

  const { rows } = foldEntries(emptyView, await store.read('s'))
  const call = rows.slice(0).find(({ kind }) => kind === 'call')
  expect(call).toMatchObject({
    approvals: [{ answer: { decision: 'allow', by: 'ann', edits: someDenied.edits } }],
    result: {
      edits: [{ outcome: 'applied' }, { outcome: 'denied', reason: 'keep this name' }, { outcome: 'applied' }],
    },
  })
})

test('HK04 an answer through the session must decide about each edit, and a second one may not differ', async () => {
  const { session, desk, resume, content } = await waiting()
  const few = desk.answer(session, '1', { decision: 'allow', edits: [deny()] })
  await expect(few).rejects.toThrow('edits must be a list of 3')
  await desk.answer(session, '1', { decision: 'allow', edits: [deny(), allow, allow] })
  await expect(desk.answer(session, '1', { decision: 'allow' })).rejects.toThrow('the first answer counts')
  await resume()
  expect(content()).toBe('one\n2\n3\n')
})

test('HK05 an answer counts only with the edits that it was signed with', async () => {
  const { session, desk, resume, content } = await waiting()
  const given: PendingAnswer[] = []
  const listening = {
    id: session.id,
    pending: session.pending,
    answer: async (_: string, one: PendingAnswer) => void given.push(one),
  }
  await desk.answer(listening as Partial<Session> as Session, '1', { decision: 'allow', ...someDenied })
  const { edits: _, ...forged } = given[0]!
  await session.answer('1', forged)
  const { status, invalid } = await resume()
  expect([status, invalid]).toEqual(['suspended', ['it is not signed with the key of this authority']])
  expect(content()).toBe(files()['a.ts'])
})

test('HK05 a signed answer about another number of edits does not count', async () => {
  const { session, resume, content } = await waiting()
  const [{ digest }] = session.pending as [PendingCall]
  const key = answerKeyFromSecret(new Uint8Array(32).fill(7))
  const answer = { decision: 'allow', by: 'ann', edits: [deny(), allow] } as const
  await session.answer('1', { ...answer, mac: key.sign({ sessionId: 's', callId: '1', digest, ...answer }) })
  expect((await resume()).invalid).toEqual([expect.stringContaining('it decides about 2 edits')])
  expect(content()).toBe(files()['a.ts'])
})

test('HK05 a rule that allows the call later does not undo a denial in the log', async () => {
  const { store, session, desk, content } = await waiting()
  await desk.answer(session, '1', { decision: 'allow', ...someDenied })
  const execution = memoryExecution({ files: files() })
  const options = { execution, tools: { multiEdit }, session: await loadSession(store, 's') }
  await guarded(['done'], { ...authority, mode: 'yolo' }, options).agent.run()
  expect(execution.files.get('/project/a.ts')).toBe('1\ntwo\n3\n')
  expect(content()).toBe(files()['a.ts'])
})

test('HK08 an edit that builds on a denied one is not made, and the others are', async () => {
  const chain = [rename('one', 'uno'), rename('uno', 'eins'), rename('three', '3')]
  const { agent, content, results } = desk([change('1', { edits: chain })], {
    answer: () => ({ edits: [deny(), allow, allow] }),
  })
  await agent.run({ prompt: 'Go.' })
  expect(content()).toBe('one\ntwo\n3\n')
  expect(results()[0]).toMatch(/^Edited a\.ts: 1\/3 applied · 1 denied · 1 failed\nedit #1: denied\nedit #2: failed: /)
  expect(parseEditOutcomesFromResult(results()[0]!)?.map(({ outcome }) => outcome)).toEqual([
    'denied',
    'failed',
    'applied',
  ])
})

test('HK08 an edit that would change other lines than the person saw is not made', async () => {
  // Shown is: the new "two" of the first edit becomes "2". Without the first edit it would be the old one.
  const moved = [rename('one\ntwo', 'zwei two'), rename('two', '2')]
  const { agent, content, results } = desk([change('1', { edits: moved })], {
    answer: () => ({ edits: [deny(), allow] }),
  })
  await agent.run({ prompt: 'Go.' })
  expect(content()).toBe(files()['a.ts'])
  expect(results()[0]).toContain('0/2 applied · 1 denied · 1 failed')
  expect(results()[0]).toContain('edit #2: failed: it would change other lines than those that were allowed')
})

test('HK11 of several calls in one question each is decided about edit by edit', async () => {
  const calls = [change('1'), call('2', 'edit', { path: 'b.ts', ...rename('x', 'y') })]
  const { agent, execution, content, results } = desk(calls, {
    batch: true,
    answer: () => ({ calls: { 1: { decision: 'allow', ...someDenied }, 2: { decision: 'deny', note: 'not here' } } }),
  })
  execution.files.set('/project/b.ts', 'x\n')
  await agent.run({ prompt: 'Go.' })
  expect(content()).toBe('1\ntwo\n3\n')
  expect(execution.files.get('/project/b.ts')).toBe('x\n')
  expect(results()).toEqual([expect.stringContaining('2/3 applied · 1 denied'), expect.stringContaining('not here')])
})

test('HK01 a hook that denies an edit is not overruled by a person who allows all', async () => {
  const { agent, content } = desk([change()], { answer: () => ({ edits: [allow, allow, deny('third')] }) })
  agent.hooks.hook('tool:gate', (ctx) => void (ctx.editDecisions = [deny('first'), allow, allow]))
  await agent.run({ prompt: 'Go.' })
  expect(content()).toBe('one\n2\nthree\n')
})

test('HK05 a person who is asked again, because the file changed, decides anew', async () => {
  const answers = [someDenied, { edits: [allow, allow, deny()] }]
  const { agent, content, execution, prompts } = desk([change()], {
    answer() {
      if (prompts.length === 1) execution.files.set('/project/a.ts', 'zero\none\ntwo\nthree\n')
      return answers[prompts.length - 1]
    },
  })
  await agent.run({ prompt: 'Go.' })
  expect(prompts).toHaveLength(2)
  expect(content()).toBe('zero\n1\n2\nthree\n')
})

test('HK01 a tool that cannot leave out edits does not run if some were denied', async () => {
  const { ran, tools } = noting('paint')
  const agent = createAgent({ provider: scripted([call('1', 'paint', {})], 'done'), tools })
  agent.hooks.hook('tool:gate', (ctx) => void (ctx.editDecisions = [allow, deny()]))
  await agent.run({ prompt: 'Go.' })
  expect(ran).toEqual([])
  expect(JSON.stringify(agent.turns)).toContain('the decisions about the edits of this call cannot be applied')
})
