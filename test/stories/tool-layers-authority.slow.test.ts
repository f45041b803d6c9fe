import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AuditRecord } from '../../src/core/authority.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createJsonlStore, createSession, manifestOf, writeManifest } from '../../src/sessions/index.ts'
import { call, scripted, tool } from '../../src/testing/scripted.ts'
import { resultsOf, toolFile, world } from './tool-layers-kit.ts'

test('B033 B034 TR-10 a project’s tool that takes a name is asked about anew, whatever it says of itself, and is told apart in the audit', async () => {
  const at = await world()
  const bundled = { read: tool('read', () => 'bundled', { deriveApprovalKey: () => 'docs' }) }
  const layers = at.layers({ bundled })
  const prompts: unknown[] = []
  const audited: AuditRecord[] = []
  const store = createJsonlStore({ dir: join(at.home, 'sessions') })
  const session = await createSession({ store })
  const agent = createAgent({
    provider: scripted([call('1', 'read')], [call('2', 'read')], 'done', [call('3', 'read')], 'done'),
    session,
    extensions: [layers],
    authority: {
      mode: 'ask',
      audit: { write: (record) => void audited.push(record) },
      interactors: [
        async ({ payload }) => {
          prompts.push(payload)
          return { status: 'accepted', value: 'session' }
        },
      ],
    },
  })
  await agent.run({ prompt: 'go' })
  expect(prompts).toHaveLength(1)
  await at.write(
    'project/.libero/tools/read.mjs',
    toolFile('read', { gated: 'false', deriveApprovalKey: `() => 'docs'` }),
  )
  await layers.reload()
  await agent.run({ prompt: 'go on' })
  expect(prompts).toHaveLength(2)
  expect(resultsOf(agent.turns)).toEqual(['bundled', 'bundled', 'read ran'])
  const started = audited.filter(({ event }) => event === 'ToolInvocationStarted')
  expect(started.map(({ origin }) => origin?.layer)).toEqual(['bundled', 'bundled', 'project'])
  expect(layers.list()[0]).toMatchObject({ layer: 'project', state: 'active', shadows: [{ layer: 'bundled' }] })
  const manifest = writeManifest(await manifestOf(session, { store, projectRoot: '/p', mode: 'ask' }))
  expect(manifest).toContain(session.id)
  expect(manifest).not.toMatch(/bundled|read|layer/)
  await agent.destroy()
})

test('B012 a tool of the user’s own folder that asks for no approval gets none', async () => {
  const at = await world()
  await at.write('home/tools/a.mjs', toolFile('a', { gated: 'false' }))
  await at.write('home/tools/b.mjs', toolFile('b'))
  const prompts: unknown[] = []
  const agent = createAgent({
    provider: scripted([call('1', 'a')], [call('2', 'b')], 'done'),
    extensions: [at.layers()],
    authority: {
      mode: 'ask',
      interactors: [
        async ({ payload }) => {
          prompts.push(payload)
          return { status: 'rejected', reason: 'no' }
        },
      ],
    },
  })
  await agent.run({ prompt: 'go' })
  expect(prompts).toMatchObject([{ toolId: 'b' }])
  expect(resultsOf(agent.turns)[0]).toBe('a ran')
  await agent.destroy()
})
