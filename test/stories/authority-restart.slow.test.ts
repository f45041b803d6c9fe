import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createAuthority } from '../../src/authority/authority.ts'
import { createAgent, createMemoryStore, createProcessContext, createSession, loadSession } from '../../src/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { askUser, shell, writeFile as writeFileTool } from '../../src/tools/index.ts'
import type { Session } from '../../src/types.ts'
import { temporary } from '../temporary.ts'
import { guarded, noting } from './authority-kit.ts'

const tempHome = (): Promise<string> => temporary('home-')
const headless = { mode: 'ask', interactors: [] } as const

describe('without a person to ask', () => {
  test('B044 the run halts, whatever the store: nothing runs, nothing is remembered, and it says what is missing', async () => {
    for (const session of [undefined, await createSession({ store: createMemoryStore() })]) {
      const { tools, ran } = noting('mail')
      const { agent, records } = guarded([[call('1', 'mail')]], headless, { tools, ...(session && { session }) })
      expect(await agent.run({ prompt: 'Write.' })).toMatchObject({
        status: 'suspended',
        stopReason: 'permission-required',
      })
      expect(ran).toEqual([])
      expect(agent.log.transcript.approvals.get('1')).toMatchObject({
        type: 'approval_requested',
        reason: 'permission-required',
        request: { kind: 'permission-required', requestKind: 'Approve', hint: expect.any(String) },
      })
      expect(records.map(({ event }) => event)).toEqual(expect.arrayContaining(['ApprovalRequired']))
    }
  })

  test('PI-19 a question of the model halts the run too, and an answer from elsewhere reaches the call', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const script = [[call('1', 'ask_user', { question: 'Which one?' })]]
    const { agent } = guarded(script, headless, { tools: { askUser }, session })
    expect(await agent.run({ prompt: 'Ask.' })).toMatchObject({
      status: 'suspended',
      stopReason: 'permission-required',
    })

    await (await loadSession(store, 's')).answer('1', { content: 'the red one' })
    const again = guarded(['Red it is.'], headless, { tools: { askUser }, session: await loadSession(store, 's') })
    await again.agent.run()
    expect(again.results()).toEqual(['The user answered: the red one'])
  })

  test('B045 a headless yolo answers by itself', async () => {
    const { tools, ran } = noting('mail')
    const { agent } = guarded([[call('1', 'mail')], 'Done.'], { ...headless, headless: 'yolo' }, { tools })
    expect(await agent.run({ prompt: 'Write.' })).toMatchObject({ status: 'completed' })
    expect(ran).toHaveLength(1)
  })
})

describe('a question outlives its process', () => {
  async function halted(home: string) {
    const store = createMemoryStore()
    const { tools, ran } = noting('mail')
    const session = await createSession({ store, id: 's' })
    await guarded([[call('1', 'mail', { to: 'ann' })]], { ...headless, home }, { tools, session }).agent.run({
      prompt: 'Go.',
    })
    return { store, tools, ran }
  }

  test('and is answered from another one that holds the same key', async () => {
    const home = await tempHome()
    const { store, tools, ran } = await halted(home)
    const elsewhere = createAuthority({ home })
    await elsewhere.answer(await loadSession(store, 's'), '1', { decision: 'allow', by: 'ann' })

    const session = await loadSession(store, 's')
    const { agent, records } = guarded(['Sent.'], { ...headless, home }, { tools, session })
    expect(await agent.run()).toMatchObject({ text: 'Sent.' })
    expect(ran).toEqual([{ to: 'ann' }])
    expect(records[0]).toMatchObject({ approver: 'ann', decision: { verdict: 'allow', by: 'person' } })
    await elsewhere.close()
  })

  test('an answer that comes after the first was taken in gets an error, and changes nothing', async () => {
    const home = await tempHome()
    const { store, tools, ran } = await halted(home)
    const elsewhere = createAuthority({ home })
    await elsewhere.answer(await loadSession(store, 's'), '1', { decision: 'deny', by: 'ann' })
    await guarded(['I see.'], { ...headless, home }, { tools, session: await loadSession(store, 's') }).agent.run()
    const late = elsewhere.answer(await loadSession(store, 's'), '1', { decision: 'allow', by: 'bob' })
    await expect(late).rejects.toThrow('no call "1" waits for an answer')
    expect(ran).toEqual([])
    await elsewhere.close()
  })

  test('PI-13 an approval written into the log without the key does not count', async () => {
    const home = await tempHome()
    const { store, tools, ran } = await halted(home)
    const invalid: unknown[] = []
    const goOn = async () => {
      const { agent } = guarded([], { ...headless, home }, { tools, session: await loadSession(store, 's') })
      return agent.run({ hooks: { 'approval:invalid': ({ by, reason }) => void invalid.push([by, reason]) } })
    }
    const { digest } = (await loadSession(store, 's')).pending[0]!
    const answer = { callId: '1', digest, decision: 'allow', by: 'mallory' } as const
    await store.send('s', { clientKey: 'forged', mode: 'answer', content: [], answer })
    expect(await goOn()).toMatchObject({ status: 'suspended', stopReason: 'permission-required' })

    await (await loadSession(store, 's')).answer('1', { decision: 'allow', by: 'mallory', mac: 'f'.repeat(64) })
    expect(await goOn()).toMatchObject({ status: 'suspended' })
    expect(ran).toEqual([])
    expect(invalid).toEqual([
      ['mallory', 'it is not signed'],
      ['mallory', 'it is not signed with the key of this authority'],
    ])
  })

  test('E07 an allow that cannot count is refused at once with the reason, and nothing is written', async () => {
    const { store } = await halted(await tempHome())
    const session = await loadSession(store, 's')
    const before = await store.read('s')
    const refused = (work: Promise<unknown>) => work.catch((error) => [error.code, error.message])
    const keys = [createAuthority({ home: await tempHome() }), createAuthority({ answerSecret: randomBytes(32) })]
    const [plain, forged, other, another] = await Promise.all([
      refused(session.answer('1', { decision: 'allow', by: 'ann' })),
      refused(session.answer('1', { decision: 'allow', mac: 'yes' })),
      ...keys.map((authority) => refused(authority.answer(session, '1', { decision: 'allow', by: 'ann' }))),
    ])
    expect(plain).toEqual([
      'UnsignedAnswer',
      expect.stringMatching(/has no signature.*authority\.answer\(session, "1"/),
    ])
    expect(forged).toEqual(['UnsignedAnswer', expect.stringContaining('"yes" as its signature')])
    for (const one of [other, another])
      expect(one).toEqual(['WrongAnswerKey', expect.stringContaining('home or answerSecret of the one that asked')])
    expect(await store.read('s')).toEqual(before)
    for (const authority of keys) await authority.close()
  })

  test('E07 an authority with another key can answer once it has asked itself', async () => {
    const { store, tools, ran } = await halted(await tempHome())
    const home = await tempHome()
    const authority = createAuthority({ home })
    const agent = async () =>
      guarded(['Done.'], { ...headless, home }, { tools, session: await loadSession(store, 's') }).agent
    expect(await (await agent()).run()).toMatchObject({ status: 'suspended' })
    await authority.answer(await loadSession(store, 's'), '1', { decision: 'allow', by: 'ann' })
    expect((await (await agent()).run()).text).toBe('Done.')
    expect(ran).toHaveLength(1)
    await authority.close()
  })

  test('a denial needs no key', async () => {
    const home = await tempHome()
    const { store, tools, ran } = await halted(home)
    await (await loadSession(store, 's')).answer('1', { decision: 'deny', by: 'ann' })
    const { agent, results } = guarded(
      ['I see.'],
      { ...headless, home },
      { tools, session: await loadSession(store, 's') },
    )
    await agent.run()
    expect(ran).toEqual([])
    expect(results()[0]).toMatch(/^Blocked: /)
  })

  test('PI-09 an approval of one call does not count for another one', async () => {
    const home = await tempHome()
    const { store, tools, ran } = await halted(home)
    const elsewhere = createAuthority({ home })
    const first = await loadSession(store, 's')
    await elsewhere.answer(first, '1', { decision: 'allow' })
    const signed = (await loadSession(store, 's')).pending
    expect(signed).toHaveLength(1)
    const session = await loadSession(store, 's')
    const more = [[call('2', 'mail', { to: 'bob' })]]
    await guarded(more, { ...headless, home }, { tools, session }).agent.run()
    const mac = session.log.transcript.approvals.get('1')
    const again = await loadSession(store, 's')
    await again.answer('2', { decision: 'allow', ...(mac && 'mac' in mac && mac.mac && { mac: mac.mac }) })
    expect(
      await guarded([], { ...headless, home }, { tools, session: await loadSession(store, 's') }).agent.run(),
    ).toMatchObject({ status: 'suspended' })
    expect(ran).toEqual([{ to: 'ann' }])
    await elsewhere.close()
  })

  test('PI-09 an approval does not count in another folder', async () => {
    const home = await tempHome()
    const store = createMemoryStore()
    const { tools, ran } = noting('mail')
    const runIn = async (session: Session, script: [ReturnType<typeof call>][], prompt?: string) => {
      const execution = createProcessContext({ cwd: await temporary('folder-') })
      const { agent } = guarded(script, { ...headless, home }, { tools, session, execution })
      return agent.run(prompt === undefined ? {} : { prompt })
    }
    await runIn(await createSession({ store, id: 's' }), [[call('1', 'mail')]], 'Go.')
    await createAuthority({ home }).answer(await loadSession(store, 's'), '1', { decision: 'allow' })
    expect(await runIn(await loadSession(store, 's'), [])).toMatchObject({ status: 'suspended' })
    expect(ran).toEqual([])
  })

  test('the person leaves: a call of a session waits, any other is denied', async () => {
    for (const session of [undefined, await createSession({ store: createMemoryStore() })]) {
      const { tools, ran } = noting('mail')
      const authority = createAuthority({ mode: 'ask' })
      const leave = authority.attach(() => void queueMicrotask(() => leave()))
      const provider = scripted([call('1', 'mail')], 'Done.')
      const agent = createAgent({ provider, tools, authority, ...(session && { session }) })
      const { status } = await agent.run({ prompt: 'Go.' })
      expect(status).toBe(session ? 'suspended' : 'completed')
      expect(ran).toEqual([])
      await authority.close()
    }
  })

  test('an answer that comes from another process while a person is asked here closes the dialog', async () => {
    const store = createMemoryStore()
    const { tools, ran } = noting('mail')
    const session = await createSession({ store, id: 's' })
    const home = await tempHome()
    let dismissed = false
    const answer = (prompt: { signal: AbortSignal }): Promise<never> => {
      prompt.signal.addEventListener('abort', () => (dismissed = true))
      void (async () => {
        const elsewhere = createAuthority({ home })
        await elsewhere.answer(await loadSession(store, 's'), '1', { decision: 'allow', by: 'ann' })
        await elsewhere.close()
      })()
      return new Promise(() => {})
    }
    const { agent } = guarded([[call('1', 'mail')], 'Done.'], { mode: 'ask', home }, { tools, session, answer })
    expect(await agent.run({ prompt: 'Go.' })).toMatchObject({ text: 'Done.' })
    expect(ran).toHaveLength(1)
    expect(dismissed).toBe(true)
  })
})

describe('what is remembered', () => {
  test('B015 ends with the session; another one is asked again', async () => {
    const { tools } = noting('mail', { deriveApprovalKey: () => 'k' })
    const authority = createAuthority({ mode: 'ask' })
    let asked = 0
    authority.attach(() => {
      asked++
      return 'session'
    })
    for (const id of ['a', 'b']) {
      const session = await createSession({ store: createMemoryStore(), id })
      const provider = scripted([call('1', 'mail'), call('2', 'mail')], 'Done.')
      await createAgent({ provider, session, tools, authority }).run({ prompt: 'Go.' })
    }
    expect(asked).toBe(2)
    authority.grants.clearSession('a')
    await authority.close()
  })

  test('a session that is resumed in another process is not asked again', async () => {
    const home = await tempHome()
    const store = createMemoryStore()
    const { tools } = noting('mail', { deriveApprovalKey: () => 'k' })
    const asked: unknown[] = []
    for (const load of [() => createSession({ store, id: 's' }), () => loadSession(store, 's')]) {
      const answer = (prompt: unknown) => asked.push(prompt) && 'session'
      const session = await load()
      const script = [[call(`c${asked.length}`, 'mail')], 'Done.']
      await guarded(script, { mode: 'ask', home }, { tools, session, answer }).agent.run({ prompt: 'Go.' })
    }
    expect(asked).toHaveLength(1)
  })

  test('B016 approvals for a project are kept and used unless that is switched off, in the user’s own folder', async () => {
    const home = await tempHome()
    const root = await temporary('project-')
    const { tools } = noting('mail', { deriveApprovalKey: () => 'k' })
    const asked: boolean[] = []
    const kept: boolean[] = []
    for (const projectGrants of [false, false, true, true, false]) {
      const { agent, prompts } = guarded(
        [[call('1', 'mail')], 'Done.'],
        { mode: 'ask', home, projectGrants, workspace: { root } },
        { tools, session: await createSession({ store: createMemoryStore() }), answer: () => 'project' },
      )
      await agent.run({ prompt: 'Go.' })
      for (const { payload } of prompts) expect((payload.scopes as string[]).includes('project')).toBe(projectGrants)
      asked.push(prompts.length > 0)
      kept.push((await readFile(join(home, 'grants.json'), 'utf8').catch(() => 'absent')).includes('"project"'))
    }
    expect(asked).toEqual([true, true, true, false, true])
    expect(kept).toEqual([false, false, true, true, true])
  })

  test('a grant that was revoked in another process no longer counts', async () => {
    const home = await tempHome()
    const { tools } = noting('mail', { deriveApprovalKey: () => 'k' })
    const script = [
      [call('1', 'mail'), call('2', 'mail')],
      async () => {
        await createAuthority({ home }).grants.revoke(() => true)
        return [call('3', 'mail')]
      },
      'Done.',
    ]
    const { agent, prompts } = guarded(script, { mode: 'ask', home }, { tools, answer: () => 'session' })
    await agent.run({ prompt: 'Go.' })
    expect(prompts.map(({ payload }) => (payload.call as { callId: string }).callId)).toEqual(['1', '3'])
  })

  test('a rule that is added while a person is asked takes precedence over the answer', async () => {
    const { tools, ran } = noting('mail')
    const authority = createAuthority({ mode: 'ask' })
    authority.attach(() => {
      authority.tighten({ deny: ['mail'] })
      return true
    })
    await createAgent({ provider: scripted([call('1', 'mail')], 'Done.'), tools, authority }).run({ prompt: 'Go.' })
    expect(ran).toEqual([])
    await authority.close()
  })

  test('B034 TR-10 a tool that takes the name of another one does not inherit its approvals', async () => {
    const authority = createAuthority({ mode: 'ask' })
    const layers: unknown[] = []
    authority.attach(({ payload }) => {
      layers.push((payload.call as { origin: { layer: string } }).origin.layer)
      return 'session'
    })
    const session = await createSession({ store: createMemoryStore(), id: 's' })
    for (const layer of ['bundled', 'project'] as const) {
      const { tools } = noting('look', { origin: { layer }, gated: layer === 'bundled', deriveApprovalKey: () => 'k' })
      const provider = scripted([call(layer, 'look')], 'Done.')
      await createAgent({ provider, session, tools, authority }).run({ prompt: 'Go.' })
    }
    expect(layers).toEqual(['bundled', 'project'])
    await authority.close()
  })

  test('SH-53 an approved script that was changed since is asked about again', async () => {
    const root = await temporary('npm-')
    await writeFile(join(root, 'package.json'), '{"scripts":{"test":"true"}}')
    const authority = { mode: 'ask', workspace: { isTrusted: true } } as const
    const edit = () => writeFile(join(root, 'package.json'), '{"scripts":{"test":"touch evil"}}')
    const script = [
      [call('1', 'shell', { command: 'npm test --silent' })],
      [call('2', 'shell', { command: 'npm test --silent' })],
      async () => {
        await edit()
        return [call('3', 'shell', { command: 'npm test --silent' })]
      },
      'Done.',
    ]
    const { agent, prompts } = guarded(script, authority, {
      tools: { shell },
      execution: createProcessContext({ cwd: root }),
      answer: () => 'session',
    })
    await agent.run({ prompt: 'Test.' })
    expect(prompts).toHaveLength(2)
  })

  test('FS-21 a file that changes while a person reads the question is asked about again', async () => {
    const root = await temporary('edit-')
    await writeFile(join(root, 'a.txt'), 'old')
    let asked = 0
    const answer = async () => {
      if (++asked === 1) await writeFile(join(root, 'a.txt'), 'changed meanwhile')
      return true
    }
    const { agent } = guarded(
      [[call('1', 'write_file', { path: 'a.txt', content: 'new' })], 'Done.'],
      { mode: 'ask' },
      {
        tools: { writeFileTool },
        execution: createProcessContext({ cwd: root }),
        answer,
        behavior: { requireReadBeforeEdit: false },
      },
    )
    await agent.run({ prompt: 'Write.' })
    expect(asked).toBe(2)
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('new')
  })
})

describe('one prompt for several calls', () => {
  test('D021 each is judged, and each is answered for itself', async () => {
    const { tools, ran } = noting('mail', { deriveApprovalKey: ({ to }) => to })
    const calls = ['ann', 'bob', 'eve', 'dan'].map((to, i) => call(String(i), 'mail', { to }))
    const { agent, prompts, results } = guarded(
      [calls, 'Done.'],
      { mode: 'ask', batchPrompts: true, deny: ['mail:eve'] },
      { tools, answer: () => ({ status: 'accepted', value: { calls: { 0: 'allow', 1: 'deny' } } }) },
    )
    await agent.run({ prompt: 'Write.' })
    expect(prompts).toHaveLength(1)
    const listed = prompts[0]!.payload.calls as { approvalKey: string }[]
    expect(listed.map(({ approvalKey }) => approvalKey)).toEqual(['ann', 'bob', 'dan'])
    expect(ran).toEqual([{ to: 'ann' }])
    expect(results().map((text) => text.startsWith('Blocked'))).toEqual([false, true, true, true])
  })
})
