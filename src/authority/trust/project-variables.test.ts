import { expect, test } from 'vitest'
import { refusedVariables, variablesIn } from './project-items.ts'

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: references are what this is about
test('TR-20 a project may have harmless variables, and all others are named', () => {
  expect(refusedVariables('${HOME}/x ${LC_ALL:-C} ${LANG} $SECRET')).toEqual([])
  expect(refusedVariables('${HOME} ${A} ${B:-x} ${A} ${USER:-${C}}')).toEqual(['A', 'B', 'C'])
  expect(variablesIn('${HOME} ${A}')).toEqual(['HOME', 'A'])
})

test.each(['${}', '${ HOME}', '${SECRET', '${env:SECRET}', '${!SECRET}', '${SECRET:0:3}'])(
  '%s is no reference',
  (text) => {
    expect(variablesIn(text)).toEqual([])
  },
)
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: see above
