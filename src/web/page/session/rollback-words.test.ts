import { expect, test } from 'vitest'
import { RemoteProblem, type RemoteRollbackRequest } from '../libero.ts'
import { planOf, rollbackWords } from './rollback-words.ts'

const files = { restored: ['a'], deleted: [], conflicts: [], failed: [] }

test('WB77 a rollback names the files that stayed as they are, and why', () => {
  expect(rollbackWords({ turns: 1 })).toEqual({ text: 'Rolled back.' })
  expect(rollbackWords({ turns: 1, files })).toEqual({ text: 'Rolled back.' })
  const conflicts = [{ path: 'b.ts', why: 'changed since' }]
  expect(rollbackWords({ turns: 1, files: { ...files, conflicts, failed: ['c.ts'] } })).toEqual({
    text: 'Rolled back, except 2 files:\nb.ts: changed since\nc.ts: it could not be written',
    isBad: true,
  })
  const failed = Array.from({ length: 12 }, (_, i) => `${i}.ts`)
  expect(rollbackWords({ turns: 1, files: { ...files, failed } }).text).toMatch(
    /^Rolled back, except 12 files:[\s\S]*and 2 more$/,
  )
})

test('WB77 where a run was cut off, the plan is that of force, and says so; other refusals stay', async () => {
  const refusing = (code: string) => (request: RemoteRollbackRequest) =>
    request.force
      ? Promise.resolve({ turns: 2, files: { restore: ['a'], delete: [], conflicts: [] } })
      : Promise.reject(new RemoteProblem({ status: 409, code, detail: code }))
  const plan = await planOf(refusing('cut_off'), { to: 3, what: 'both' })
  expect(plan).toMatchObject({ turns: 2, files: { restore: ['a'] }, isCutOff: true })
  await expect(planOf(refusing('at_work'), { to: 3 })).rejects.toThrow('at_work')
})
