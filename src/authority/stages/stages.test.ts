import { expect, test } from 'vitest'
import { defineStages, type Stage } from './stages.ts'

const stage: Stage = {
  id: 'plan',
  body: 'Make a plan.',
  turnCap: 3,
  completionTool: 'done',
  completionSchema: { type: 'object' },
  next: () => undefined,
}

test('a definition is checked, completed and frozen', () => {
  const defined = defineStages({ start: 'plan', stages: [stage] })
  expect(defined).toMatchObject({ id: 'stages', start: 'plan' })
  expect(Object.isFrozen(defined.stages[0])).toBe(true)
})

test.for<[why: string, stages: readonly unknown[], start?: string]>([
  ['stages must list at least one stage', []],
  ['stages[0].id must be a name, got undefined', [null]],
  ['stages[0].id must be a name, got ""', [{ ...stage, id: '' }]],
  ['two stages are called "plan"; give one of them another id', [stage, stage]],
  ['start must be one of plan, got "build"', [stage], 'build'],
  ['stages[0].body must be a text for the system prompt, got undefined', [{ ...stage, body: undefined }]],
  ['stages[0].turnCap must be a whole number of at least 1, got 0', [{ ...stage, turnCap: 0 }]],
  ['stages[0].turnCap must be a whole number of at least 1, got 1.5', [{ ...stage, turnCap: 1.5 }]],
  ['stages[0].completionTool must be the name of a tool, got undefined', [{ ...stage, completionTool: undefined }]],
  ['stages[0].completionSchema must be a JSON Schema of an object, got []', [{ ...stage, completionSchema: [] }]],
  ['stages[0].allowedTools must be a list of names of tools, got "read"', [{ ...stage, allowedTools: 'read' }]],
  ['stages[0].next must be a function that gives the id of a stage, got "plan"', [{ ...stage, next: 'plan' }]],
  ['stages[0].assert must be a function, got true', [{ ...stage, assert: true }]],
])('is refused: %s', ([why, stages, start = 'plan']) => {
  expect(() => defineStages({ start, stages: stages as Stage[] })).toThrow(`Validation/InvalidStages: ${why}`)
})
