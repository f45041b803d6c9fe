import { expect, test } from 'vitest'
import type { Io } from '../io.ts'
import { table } from './list.ts'

const agent = {
  ...{ id: 'agent-zovumu-fuviko', definition: 'assistant', title: 'helper', status: 'waiting' as const },
  ...{ created: 0, modified: 0, closed: false, waiting: [] },
}
const linesAt = (columns: number): string[] =>
  table([agent], { stdout: { isTTY: true, columns } as Io['stdout'], env: { NO_COLOR: '1' } })

test('on a narrow terminal status and title come first, and the id is not cut', () => {
  expect(linesAt(120)).toEqual([expect.stringMatching(/^agent-zovumu-fuviko {2}assistant .* waits for you {2}helper$/)])
  expect(linesAt(28).slice(0, 2)).toEqual(['waits for you  helper', '  agent-zovumu-fuviko'])
})
