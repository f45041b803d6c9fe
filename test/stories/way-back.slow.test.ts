import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { type EntryBody, onFailpoint } from '../../src/core/log.ts'
import { textOf } from '../../src/core/turn.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import { createMemoryStore, createSession, loadSession, openSession } from '../../src/sessions/index.ts'
import { createSnapshots, type SnapshotsOptions } from '../../src/snapshots/index.ts'
import { call, memoryExecution, scripted } from '../../src/testing/index.ts'
import { readFile as readFileTool, shell, writeFile as writeFileTool } from '../../src/tools/index.ts'
import { emptyView, foldEntries } from '../../src/view/session-view.ts'
import { testInTurns } from '../soak.ts'
import { temporary } from '../temporary.ts'

const test = testInTurns(2)

const run = (id: string, command: string) => [call(id, 'shell', { command })]
const write = (id: string, path: string, content: string) => [call(id, 'write_file', { path, content })]

/** A folder, a session and an agent that works there. */
async function desk(replies: Parameters<typeof scripted>, more: Partial<SnapshotsOptions> = {}) {
  const folder = await temporary('desk-')
  const execution = more.execution ?? createProcessContext({ cwd: folder })
  const kept = await temporary('snapshots-')
  const snapshots = createSnapshots({ execution, store: kept, ...more })
  const store = createMemoryStore()
  const session = await createSession({ store, id: 'one' })
  const tools = { shell, write_file: writeFileTool, read_file: readFileTool }
  const agent = createAgent({
    ...{ provider: scripted(...replies), session, execution, tools },
    extensions: [snapshots.extension],
  })
  const put = (name: string, text: string): void => {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const read = (name: string): string | undefined =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : undefined
  /** The number of the entry before a message of the person. */
  const seqBefore = async (text: string): Promise<number> => {
    for await (const entry of session.entries())
      if (entry.type === 'turn' && JSON.stringify(entry.turn.content).includes(text)) return entry.seq - 1
    throw new Error(`nothing was said like ${text}`)
  }
  const said = (): string[] => session.turns.map(({ content }) => (content[0]?.type === 'text' ? content[0].text : '…'))
  const notes = async () => {
    const found: string[] = []
    for await (const entry of session.entries())
      if (entry.type === 'state' && entry.owner === 'snapshot')
        found.push(
          Object.values(entry.value as object)
            .join()
            .split(',')[0]!,
        )
    return found
  }
  /** The session as a process leaves it that is killed after an entry. */
  const killedAfter = async (seq: number) => {
    const store = createMemoryStore()
    const dying = await createSession({ store, id: 'one' })
    await dying.open()
    for await (const { seq: _, id: __, at: ___, ...body } of session.entries({ before: seq + 1 }))
      await dying.log.append(body as EntryBody)
    return openSession(store, 'one', { takeOver: true })
  }
  return { folder, kept, execution, snapshots, store, session, agent, put, read, seqBefore, said, notes, killedAfter }
}

const noFiles = { restore: [], delete: [], conflicts: [] }

describe('a session goes back', () => {
  test('CK09 snapshots beyond their limit are removed before a run ends, which may be long or be killed', async () => {
    onTestFinished(() => void vi.restoreAllMocks())
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const calls = ['1', '2', '3', '4', '5'].map((id) => run(id, `echo ${id} > a.txt`))
    const { agent, kept } = await desk([...calls, 'Done.'], { keep: 2 })
    const counts: number[] = []
    agent.hooks.hook('tool:after', () => {
      const refs = ['for-each-ref', 'refs/snapshots/']
      const repository = join(kept, readdirSync(kept)[0]!)
      counts.push(execFileSync('git', refs, { cwd: repository, encoding: 'utf8' }).trim().split('\n').length)
    })
    await agent.run({ prompt: 'Work.' })
    expect(counts).toEqual([1, 2, 2, 2, 2]) // nothing had changed before the first call
  })

  test('CK01 CK02 snapshots are taken before each prompt and before each call that may write, with what no tool announced; none by default', async () => {
    const { agent, notes, put, snapshots, session, seqBefore, read } = await desk([
      [call('r', 'read_file', { path: 'a.txt' })],
      run('1', 'echo made > made.txt; echo more >> a.txt'),
      write('2', 'b.txt', 'two'),
      'Done.',
      'You are welcome.',
    ])
    put('a.txt', 'mine\n')
    await agent.run({ prompt: 'Work.' })
    await agent.run({ prompt: 'Thanks.' })
    expect(await notes()).toEqual(['prompt', 'call', 'call', 'end', 'prompt'])
    const plan = await snapshots.planRollback(session, { to: await seqBefore('Work.') })
    expect(plan.files).toEqual({ restore: ['a.txt'], delete: ['b.txt', 'made.txt'], conflicts: [] })
    expect(plan.turns).toHaveLength(10)
    // To between the two calls.
    const results: number[] = []
    for await (const entry of session.entries()) if (entry.type === 'call_result') results.push(entry.seq)
    await snapshots.rollback(session, { to: results[1]!, scope: 'files' })
    expect([read('made.txt'), read('b.txt'), read('a.txt')]).toEqual(['made\n', undefined, 'mine\nmore\n'])
    await agent.destroy()

    const plain = createAgent({
      provider: scripted(run('1', 'true'), 'Done.'),
      session: await createSession(),
      tools: { shell },
    })
    await plain.run({ prompt: 'Work.' })
    expect(plain.session?.log.transcript.states.has('snapshot')).toBe(false)
    await plain.destroy()
  })

  test('CK03 CK04 conversation and files go back together or alone; what a person changed meanwhile is shown and kept, and by force it is in the undo', async () => {
    const { agent, put, read, snapshots, session, store, seqBefore, said, folder } = await desk([
      write('1', 'plan.txt', 'dig\n'),
      'Dug.',
      run('2', 'echo water > plan.txt; echo two > beds.txt; rm old.txt; chmod +x run.sh'),
      'Watered.',
    ])
    put('plan.txt', 'sow\n')
    put('old.txt', 'old\n')
    put('run.sh', 'true\n')
    chmodSync(join(folder, 'run.sh'), 0o600)
    await agent.run({ prompt: 'Dig' })
    await agent.run({ prompt: 'Water' })
    put('beds.txt', 'two of mine\n') // a person goes on with it
    put('diary.txt', 'mine\n')
    const to = await seqBefore('Water')
    const files = {
      restore: ['old.txt', 'plan.txt', 'run.sh'],
      delete: [],
      conflicts: [{ path: 'beds.txt', why: 'it was changed since' }],
    }
    expect((await snapshots.planRollback(session, { to })).files).toEqual(files)
    const result = await snapshots.rollback(session, { to })
    expect(result).toEqual({
      turns: 4,
      files: { restored: files.restore, deleted: [], conflicts: files.conflicts, failed: [] },
    })
    expect([read('plan.txt'), read('old.txt'), read('beds.txt'), read('diary.txt')]).toEqual([
      'dig\n',
      'old\n',
      'two of mine\n',
      'mine\n',
    ])
    expect(statSync(join(folder, 'run.sh')).mode & 0o777).toBe(0o600)
    expect(said()).toEqual(['Dig', '…', '…', 'Dug.'])

    expect((await snapshots.undoRollback(session)).turns).toBe(4)
    expect([read('plan.txt'), read('old.txt')]).toEqual(['water\n', undefined])
    expect(said()).toEqual(['Dig', '…', '…', 'Dug.', 'Water', '…', '…', 'Watered.'])
    await snapshots.undoRollback(session) // the undo of the undo
    expect([read('plan.txt'), said().length]).toEqual(['dig\n', 4])
    await snapshots.undoRollback(session)
    expect([read('plan.txt'), said().length]).toEqual(['water\n', 8])

    await snapshots.rollback(session, { to: await seqBefore('Dig'), scope: 'files', force: true })
    expect([read('plan.txt'), read('beds.txt'), read('diary.txt'), said().length]).toEqual([
      'sow\n',
      undefined,
      'mine\n',
      8,
    ])
    const { rows } = foldEntries(emptyView, await store.read('one'))
    expect(rows.at(-1)).toMatchObject({
      kind: 'notice',
      about: 'files',
      text: expect.stringContaining('were restored'),
    })
    await snapshots.undoRollback(session)
    expect([read('plan.txt'), read('beds.txt')]).toEqual(['water\n', 'two of mine\n'])
    await snapshots.rollback(session, { to, scope: 'conversation' })
    expect([read('plan.txt'), said().length]).toEqual(['water\n', 4])
    await agent.destroy()
  }, 60_000)

  test('CK03 after the agent was destroyed the plan, the rollback and the undo work, and so does another agent with the same snapshots', async () => {
    const { agent, put, read, snapshots, session, seqBefore, folder } = await desk([write('1', 'a.txt', 'dug'), 'Dug.'])
    put('a.txt', 'mine')
    await agent.run({ prompt: 'Dig' })
    await agent.destroy()
    const to = await seqBefore('Dig')
    expect((await snapshots.planRollback(session, { to })).files).toMatchObject({ restore: ['a.txt'] })
    await snapshots.rollback(session, { to })
    expect(read('a.txt')).toBe('mine')
    await snapshots.undoRollback(session)
    expect(read('a.txt')).toBe('dug')
    // Two agents with the same snapshots, of which one ends while the other works.
    const ends = createAgent({ provider: scripted('Done.'), extensions: [snapshots.extension] })
    const end = {
      spec: { name: 'end', description: 'Ends the other agent.', inputSchema: { type: 'object' } },
      execute: () => ends.destroy().then(() => 'ended'),
    }
    const other = createAgent({
      ...{ provider: scripted([call('1', 'end', {})], run('2', 'echo new > b.txt'), 'Done.'), session },
      ...{ execution: createProcessContext({ cwd: folder }), tools: { shell, end } },
      extensions: [snapshots.extension],
    })
    await ends.run({ prompt: 'Nothing.' })
    await other.run({ prompt: 'Build' })
    await snapshots.close()
    expect((await snapshots.planRollback(session, { to: await seqBefore('Build') })).files).toMatchObject({
      delete: ['b.txt'],
    })
    await other.destroy()
  })

  test('CK03 to before a message that an undo brought back, files go back as the first time', async () => {
    const { agent, put, read, snapshots, session, store, said } = await desk([
      ...[write('1', 'plan.txt', 'dig\n'), 'Dug.', 'At once.'],
      ...[write('2', 'plan.txt', 'water\n'), 'Watered.'],
      ...[write('3', 'plan.txt', 'reap\n'), 'Reaped.'],
    ])
    put('plan.txt', 'sow\n')
    const stop = agent.hooks.hook('tool:after', () => void agent.followUp('Quickly'))
    await agent.run({ prompt: 'Dig' })
    stop()
    await agent.run({ prompt: 'Water' })
    const seqOf = async (text: string): Promise<number> => {
      let last = 0
      for await (const entry of session.entries())
        if (entry.type === 'turn' && JSON.stringify(entry.turn.content).includes(`"${text}"`)) last = entry.seq
      return last
    }
    const cost = async () => {
      const { tokens } = (await store.find('one'))!
      return { tokens, usage: foldEntries(emptyView, await store.read('one')).usage }
    }
    const before = await cost()
    expect(before.usage.calls).toBe(5)
    // All that the log tells about messages, answers and calls, but not where.
    const rowsOf = async () => {
      const rows = [...foldEntries(emptyView, await store.read('one')).rows].filter(({ kind }) => kind !== 'notice')
      return rows.map((row) => {
        const { seq: _, ...shown } = row
        if (shown.kind === 'message') return { ...shown, from: 0 }
        return shown.kind === 'call' && shown.result ? { ...shown, result: { ...shown.result, seq: 0 } } : shown
      })
    }
    const rowsBefore = await rowsOf()
    expect(rowsBefore).toContainEqual(expect.objectContaining({ kind: 'message', mode: 'followUp' }))
    const known = { started: expect.anything(), result: expect.objectContaining({ details: expect.anything() }) }
    expect(rowsBefore).toContainEqual(expect.objectContaining({ id: '2', state: 'over', ...known }))
    for (const redone of [1, 2]) {
      await snapshots.rollback(session, { to: 0 })
      expect([redone, read('plan.txt')]).toEqual([redone, 'sow\n'])
      await snapshots.undoRollback(session)
      expect([redone, read('plan.txt'), said().length]).toEqual([redone, 'water\n', 10])
    }
    expect(await cost()).toEqual(before)
    expect(await rowsOf()).toEqual(rowsBefore)
    const { rows } = foldEntries(emptyView, await store.read('one'))
    const notices = [...rows].flatMap((row) => (row.kind === 'notice' ? row.text : []))
    expect(notices.at(-1)).toBe('What was taken back is part of the conversation again')
    const messages = [...rows].filter((row) => row.kind === 'message')
    expect(messages.map(({ content, isNote }) => [textOf({ role: 'user', content }), isNote])).toEqual([
      ['Dig', undefined],
      ['Quickly', undefined],
      ['Water', undefined],
    ])
    await agent.run({ prompt: 'Reap' })
    expect((await snapshots.planRollback(session, { to: (await seqOf('Reap')) - 1 })).turns).toHaveLength(4)
    await snapshots.rollback(session, { to: (await seqOf('Water')) - 1 })
    expect([read('plan.txt'), said()]).toEqual(['dig\n', ['Dig', '…', '…', 'Dug.', 'Quickly', 'At once.']])
    await snapshots.rollback(session, { to: (await seqOf('Dig')) - 1 })
    expect([read('plan.txt'), said()]).toEqual(['sow\n', []])
    await agent.destroy()
  }, 60_000)

  test('CK03 a plan is refused while an undo is under way, and lists the files if the undo was cut off', async () => {
    const { agent, put, read, snapshots, session } = await desk([write('1', 'plan.txt', 'dig\n'), 'Dug.'])
    put('plan.txt', 'sow\n')
    await agent.run({ prompt: 'Dig' })
    const plan = () => snapshots.planRollback(session, { to: 0 }).catch(({ code }) => ({ files: code }))
    const { files } = await plan()
    expect(files).toEqual({ restore: ['plan.txt'], delete: [], conflicts: [] })
    await snapshots.rollback(session, { to: 0 })
    let meanwhile: Promise<unknown> | undefined
    onFailpoint((name) => {
      if (name === 'rollback.logged') meanwhile = plan()
      if (name === 'rollback.done') throw new Error('power cut')
    })
    await expect(snapshots.undoRollback(session)).rejects.toThrow('power cut')
    onFailpoint(undefined)
    expect(await meanwhile).toEqual({ files: 'at_work' })
    expect([read('plan.txt'), (await plan()).files]).toEqual(['dig\n', files])
    await snapshots.rollback(session, { to: 0 })
    onFailpoint((name) => {
      if (name === 'rollback.logged') throw new Error('power cut')
    })
    await expect(snapshots.undoRollback(session)).rejects.toThrow('power cut')
    onFailpoint(undefined)
    // Nothing has come back to the disk yet, so nothing would leave it.
    expect([read('plan.txt'), (await plan()).files]).toEqual(['sow\n', noFiles])
    await snapshots.undoRollback(session) // finishes the undo first
    expect(read('plan.txt')).toBe('sow\n')
    await snapshots.undoRollback(session)
    expect((await plan()).files).toEqual(files)
    await agent.destroy()
  }, 60_000)

  test('CK05 what cannot be done is refused with a reason, and nothing is changed', async () => {
    const { agent, snapshots, session, seqBefore, store, put, read } = await desk([
      write('1', 'a.txt', 'x'),
      'Done.',
      'More.',
      'Held.',
    ])
    await expect(snapshots.undoRollback(session)).rejects.toMatchObject({ code: 'nothing_to_undo' })
    await agent.run({ prompt: 'Work.' })
    await expect(snapshots.rollback(session, { to: 9999 })).rejects.toThrow(
      /has \d+ entries; it cannot be rolled back to 9999/,
    )
    const to = await seqBefore('Work.')
    await snapshots.rollback(session, { to })
    await agent.run({ prompt: 'Again.' })
    await expect(snapshots.undoRollback(session)).rejects.toMatchObject({ code: 'went_on' })
    const other = await loadSession(store, 'one')
    await other.open()
    await expect(snapshots.rollback(session, { to })).rejects.toMatchObject({ code: 'at_work' })
    await other.release()
    const refused: unknown[] = []
    agent.hooks.hook('turn:before', async () => {
      for (const force of [false, true])
        refused.push(await snapshots.planRollback(session, { to, force }).catch(({ code }) => code))
    })
    await agent.run({ prompt: 'What would be undone?' })
    expect(refused).toEqual(['at_work', 'at_work'])
    put('a.txt', 'mine')
    await snapshots.rollback(session, { to, scope: 'files' })
    expect(read('a.txt')).toBe('mine')
    await agent.destroy()
  })

  test('CK04 CK05 what a person changed between a run that was killed and the next one is not taken for its work, except by force, whose undo brings it back', async () => {
    const { agent, execution, snapshots, session, put, read, killedAfter } = await desk([
      ...[write('1', 'a.txt', 'dug'), run('2', 'true'), 'Done.'],
    ])
    put('a.txt', 'mine')
    put('notes.md', 'mine')
    await agent.run({ prompt: 'Work.' })
    await agent.destroy()
    let started = 0
    for await (const entry of session.entries()) if (entry.type === 'call_started') started = entry.seq
    const killed = await killedAfter(started)
    put('notes.md', 'mine, and more')
    put('new.md', 'mine too')
    const next = createAgent({
      ...{ provider: scripted('Yes?'), session: killed, execution },
      extensions: [snapshots.extension],
    })
    await next.run({ prompt: 'Hello?' })
    await next.destroy()
    const files = () => [read('a.txt'), read('notes.md'), read('new.md')]
    const mine = files()
    for (const refused of [snapshots.planRollback(killed, { to: 0 }), snapshots.rollback(killed, { to: 0 })])
      await expect(refused).rejects.toMatchObject({ code: 'cut_off', message: expect.stringMatching(/^a run was cut/) })
    expect(files()).toEqual(mine)
    await snapshots.rollback(killed, { to: 0, force: true })
    expect(files()).toEqual(['mine', 'mine', undefined])
    await snapshots.undoRollback(killed)
    expect(files()).toEqual(mine)
    expect((await snapshots.changedFiles(killed)).map(({ path }) => path)).toEqual(['a.txt', 'new.md', 'notes.md'])
  })

  test('CK05 on a full disk a rollback is refused and changes nothing, neither files nor conversation', async () => {
    const folder = await temporary('desk-')
    const disk = createProcessContext({ cwd: folder })
    let isFull = false
    const execution: typeof disk = {
      ...disk,
      exec: (handle, command, ...rest) => disk.exec(handle, (isFull ? full : '') + command, ...rest),
    }
    const full = 'trap "" XFSZ; ulimit -f 8\n' // no file may get more than 4 KB
    const { agent, snapshots, session, store } = await desk([run('1', 'echo dig > plan; echo x > new'), 'Dug.'], {
      execution,
    })
    writeFileSync(join(folder, 'plan'), 'sow '.repeat(20_000))
    await agent.run({ prompt: 'Dig' })
    const { head } = (await store.find('one'))!
    isFull = true
    await expect(snapshots.rollback(session, { to: 0 })).rejects.toMatchObject({
      code: 'not_kept',
      message: expect.stringMatching(/^the files to restore cannot be written beside the others: error: .*plan/),
    })
    isFull = false
    expect([readdirSync(folder), (await store.find('one'))!.head]).toEqual([['new', 'plan'], head])
    await snapshots.rollback(session, { to: 0 })
    expect([readdirSync(folder), readFileSync(join(folder, 'plan'), 'utf8').length]).toEqual([['plan'], 80_000])
    await agent.destroy()
  })

  test('CK05 CK14 a run that removes its folder can be undone by force in a new one, and it is said why it has no last snapshot', async () => {
    const said: string[] = []
    const { agent, snapshots, session, folder, put, read } = await desk(
      [run('1', 'rm -r "$PWD"'), 'Gone.', 'Welcome.'],
      {
        onUnavailable: (why) => said.push(why),
      },
    )
    put('plan.txt', 'sow')
    expect((await agent.run({ prompt: 'Clean up' })).status).toBe('completed')
    expect(said).toEqual([expect.stringContaining(`${folder} does not exist (any more)`)])
    mkdirSync(folder)
    const refused = { code: 'cut_off', message: expect.stringContaining('does not exist (any more)') }
    await expect(snapshots.rollback(session, { to: 0 })).rejects.toMatchObject(refused)
    put('plan.txt', 'mine')
    await agent.run({ prompt: 'Thanks' }) // its first snapshot has what a person changed since
    await expect(snapshots.rollback(session, { to: 0 })).rejects.toMatchObject(refused)
    await snapshots.rollback(session, { to: 0, force: true })
    expect(read('plan.txt')).toBe('sow')
    await agent.destroy()
  })

  test('CK05 of two sessions in one folder only one is rolled back at a time, and the other one is refused', async () => {
    const { agent, snapshots, kept, session, store, folder, put, read } = await desk([
      run('1', 'echo dig > plan'),
      'Dug.',
    ])
    put('plan', 'sow')
    await agent.run({ prompt: 'Dig' })
    const second = await createSession({ store, id: 'two' })
    const other = createAgent({
      ...{ provider: scripted(run('1', 'echo two > beds'), 'Made.'), session: second, tools: { shell } },
      ...{ execution: createProcessContext({ cwd: folder }), extensions: [snapshots.extension] },
    })
    await other.run({ prompt: 'Make beds' })
    let meanwhile: Promise<unknown> | undefined
    onFailpoint((name) => {
      if (name === 'rollback.logged') meanwhile ??= elsewhere.rollback(second, { to: 0 }).catch((error) => error)
    })
    const elsewhere = createSnapshots({ execution: createProcessContext({ cwd: folder }), store: kept })
    await snapshots.rollback(session, { to: 0 })
    onFailpoint(undefined)
    expect(await meanwhile).toMatchObject({ code: 'at_work', message: expect.stringContaining('session one works') })
    expect([read('plan'), read('beds')]).toEqual(['sow', 'two\n'])
    await elsewhere.rollback(second, { to: 0 })
    expect([read('plan'), read('beds')]).toEqual(['sow', undefined])
    await elsewhere.close()
    await other.destroy()
    await agent.destroy()
  })

  test('CK14 a run of another session in the folder is told of a rollback that was cut off, until that is finished', async () => {
    const told: unknown[] = []
    const { agent, snapshots, session, store, folder, put, read } = await desk(
      [write('1', 'a.txt', 'x'), 'Done.', 'Yes?'],
      {
        onInterrupted: ({ outcome, session: of }) => told.push([outcome, of]),
      },
    )
    put('a.txt', 'mine')
    await agent.run({ prompt: 'Work.' })
    onFailpoint((name) => {
      if (name === 'rollback.logged') throw new Error('power cut')
    })
    await expect(snapshots.rollback(session, { to: 0, scope: 'files' })).rejects.toThrow('power cut')
    onFailpoint(undefined)
    const other = createAgent({
      ...{ provider: scripted('One.', 'Two.'), session: await createSession({ store, id: 'two' }) },
      ...{ execution: createProcessContext({ cwd: folder }), extensions: [snapshots.extension] },
    })
    await other.run({ prompt: 'Hello?' })
    expect([told, read('a.txt')]).toEqual([[['unfinished', 'one']], 'x'])
    await agent.run({ prompt: 'Hello?' })
    await other.run({ prompt: 'Hello again?' })
    expect([told.slice(1), read('a.txt')]).toEqual([[['finished', 'one']], 'mine'])
    await other.destroy()
    await agent.destroy()
  })

  test('CK06 an execution context that cannot keep files says so; the work goes on, and files stay', async () => {
    const said: string[] = []
    const execution = memoryExecution({ exec: () => ({ stdout: '', exitCode: 127 }) })
    const { agent, snapshots, session, seqBefore } = await desk([write('1', 'a.txt', 'x'), 'Done.'], {
      execution: { ...execution, capabilities: { ...execution.capabilities, shell: false } },
      onUnavailable: (why) => said.push(why),
    })
    expect((await agent.run({ prompt: 'Work.' })).status).toBe('completed')
    expect(said).toEqual([
      expect.stringMatching(/execution context ".*" runs no commands; snapshots need a POSIX shell and git/),
    ])
    const to = await seqBefore('Work.')
    await expect(snapshots.rollback(session, { to })).rejects.toThrow(/files were not kept there|runs no commands/)
    await agent.destroy()
  })

  test('CK07 a deleted session takes its snapshots along, and those of other sessions stay', async () => {
    const { agent, snapshots, session, seqBefore, put } = await desk([run('1', 'echo x > a'), 'Done.'])
    put('b', 'b')
    await agent.run({ prompt: 'Work.' })
    const to = await seqBefore('Work.')
    await snapshots.forget(['another'])
    expect((await snapshots.planRollback(session, { to })).files?.delete).toEqual(['a'])
    await snapshots.forget(['one'])
    const refused = { code: 'not_kept', message: expect.stringContaining('is not kept here') }
    await expect(snapshots.planRollback(session, { to })).rejects.toMatchObject(refused)
    await expect(snapshots.rollback(session, { to })).rejects.toMatchObject(refused)
    expect(await snapshots.rollback(session, { to, scope: 'conversation' })).toEqual({ turns: 4 })
    await agent.destroy()
  })

  test('CK08 empty folders, unreadable files and repositories inside: kept, or named and left alone', async () => {
    const { agent, snapshots, session, seqBefore, put, read, folder } = await desk([
      run('1', 'rmdir empty/er; rm -r full; mkdir made; echo x > inner/x'),
      'Done.',
    ])
    mkdirSync(join(folder, 'empty/er'), { recursive: true })
    put('empty/beside', 'b')
    put('full/f', 'f')
    put('inner/.git/HEAD', 'ref: refs/heads/main\n')
    mkdirSync(join(folder, 'inner/.git/objects'))
    mkdirSync(join(folder, 'inner/.git/refs'))
    put('inner/x', 'inner')
    await agent.run({ prompt: 'Work.' })
    await snapshots.rollback(session, { to: await seqBefore('Work.') })
    expect(existsSync(join(folder, 'empty/er'))).toBe(true)
    expect(existsSync(join(folder, 'made'))).toBe(false)
    expect([read('full/f'), read('inner/x')]).toEqual(['f', 'x\n'])
    rmSync(join(folder, 'full'), { recursive: true })
    await agent.destroy()
  })
})
