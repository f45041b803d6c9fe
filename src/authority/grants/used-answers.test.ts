import { expect, test } from 'vitest'
import { temporary } from '../../../test/temporary.ts'
import { createUsedAnswers } from './used-answers.ts'

const mac = 'a'.repeat(64)

test.each(['in memory', 'in a folder'])(
  'S11 %s an answer lets each start through once, and none after the end',
  async (where) => {
    const home = where === 'in memory' ? undefined : await temporary('home-')
    const used = createUsedAnswers(home)
    const isUsed = (attempt: number, other = {}) => used.isUsed({ sessionId: 's', mac, attempt, ...other })
    expect(await isUsed(1)).toBe(false)
    await used.use({ sessionId: 's', mac, attempt: 1 })
    expect([await isUsed(1), await isUsed(2)]).toEqual([true, false])
    expect([await isUsed(1, { mac: 'b'.repeat(64) }), await isUsed(1, { sessionId: 't' })]).toEqual([false, false])
    await used.use({ sessionId: 's', mac, attempt: 2 })
    expect([await isUsed(1), await isUsed(2), await isUsed(3)]).toEqual([true, true, false])
    await used.end({ sessionId: 's', mac })
    expect(await isUsed(3)).toBe(true)
    if (home !== undefined) expect(await createUsedAnswers(home).isUsed({ sessionId: 's', mac, attempt: 3 })).toBe(true)
  },
)

test('the children of a session are recorded with it', async () => {
  const used = createUsedAnswers(await temporary('home-'))
  await used.use({ sessionId: 's/1', mac, attempt: 1 })
  expect(await used.isUsed({ sessionId: 's/1', mac, attempt: 1 })).toBe(true)
})
