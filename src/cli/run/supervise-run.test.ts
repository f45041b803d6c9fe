import { describe, expect, test } from 'vitest'
import { fakeIo } from '../../../test/cli/fake-io.ts'
import { createAgent } from '../../create-agent.ts'
import { call, scripted, tool } from '../../testing/index.ts'
import { superviseRuns } from './supervise-run.ts'

function attended(...script: Parameters<typeof scripted>) {
  const io = fakeIo()
  const said: string[] = []
  const started = Promise.withResolvers<void>()
  const hangs = tool('hang', (_, { signal }) => {
    started.resolve()
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
  })
  const agent = createAgent({ provider: scripted(...script), tools: { hangs } })
  const supervisor = superviseRuns(
    io,
    () => agent.abort(),
    (text) => said.push(text),
  )
  return { io, said, agent, supervisor, started: started.promise }
}

const hang = [call('1', 'hang')]

describe('a run that is watched', () => {
  test('ends with 0 when it is done', async () => {
    const { agent, supervisor } = attended('Done.')
    expect(await supervisor.resultOf(agent.run({ prompt: 'x' }))).toMatchObject({
      exitCode: 0,
      stats: { text: 'Done.' },
    })
    supervisor.close()
  })

  test('ends with 4 when its turns are used up', async () => {
    const { agent, supervisor } = attended([call('1', 'none')])
    const run = agent.run({ prompt: 'x', behavior: { maxTurns: 1 } })
    expect(await supervisor.resultOf(run)).toMatchObject({ exitCode: 4 })
    supervisor.close()
  })

  test('FD-04 is stopped by a first SIGINT, and quit by a second', async () => {
    const { io, said, agent, supervisor, started } = attended(hang)
    const over = supervisor.resultOf(agent.run({ prompt: 'x' }))
    await started
    io.signal('SIGINT')
    expect(said).toEqual([expect.stringContaining('Ctrl-C again quits')])
    io.signal('SIGINT')
    expect(io.quits).toEqual([130])
    const { exitCode, error, stats } = await over
    expect({ exitCode, error, status: stats?.status }).toEqual({ exitCode: 130, error: undefined, status: 'aborted' })
    supervisor.close()
  })

  test('where nothing runs yet a signal ends it at once', () => {
    const { io, supervisor } = attended('x')
    io.signal('SIGTERM')
    expect(io.quits).toEqual([143])
    supervisor.close()
  })

  test('the next run of a conversation can be stopped again', async () => {
    const { io, agent, supervisor, started } = attended(hang, 'fine')
    const over = supervisor.resultOf(agent.run({ prompt: 'x' }))
    await started
    io.signal('SIGINT')
    expect(await over).toMatchObject({ exitCode: 130 })
    expect(supervisor.exitCode).toBeUndefined()
    expect(await supervisor.resultOf(agent.run({ prompt: 'y' }))).toMatchObject({ exitCode: 0 })
    expect(io.quits).toEqual([])
    supervisor.close()
  })

  test('FD-32 an error that nobody caught stops it, and is what it ends with', async () => {
    const { io, agent, supervisor, started } = attended(hang)
    const over = supervisor.resultOf(agent.run({ prompt: 'x' }))
    await started
    const crash = new Error('from a timer of an extension')
    io.crash(crash)
    expect(await over).toMatchObject({ exitCode: 1, error: crash })
    expect(agent.log.transcript.runs.at(-1)?.status).toBe('aborted')
    supervisor.close()
  })

  test('FD-32 where nothing runs, an error that nobody caught is told and ends it at once', () => {
    const { io, supervisor } = attended('x')
    io.crash(new Error('from a timer\x1b[2J'))
    expect([io.said.err, io.quits]).toEqual(['libero: from a timer␛[2J\n', [1]])
    supervisor.close()
  })

  test('a failure of its own stays its own', async () => {
    const { agent, supervisor } = attended(new Error('the model is out'))
    const { exitCode, error } = await supervisor.resultOf(agent.run({ prompt: 'x' }))
    expect(exitCode).toBe(1)
    expect((error as Error).message).toContain('the model is out')
    supervisor.close()
  })
})
