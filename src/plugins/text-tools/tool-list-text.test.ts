import { expect, test } from 'vitest'
import { matchToolCalling } from './match-tool-calling.ts'
import { toolListText } from './tool-list-text.ts'

const search = {
  name: 'wiki-search',
  description: 'Searches a wiki.\nQuickly.',
  inputSchema: {
    type: 'object',
    title: 'Search the wiki',
    properties: {
      workspaceName: { type: 'string', description: 'Which wiki\nto search' },
      searchType: { enum: ['filter', 'vector'], type: 'string', default: 'filter' },
      limit: { type: 'integer', description: 'How many.', default: 10 },
      tags: { type: 'array', items: { type: 'string' } },
      when: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      range: {
        $ref: '#/$defs/range',
        description: 'Between which days',
      },
    },
    required: ['workspaceName', 'searchType', 'range'],
    $defs: {
      range: { type: 'object', properties: { from: { type: 'number' }, to: { type: 'number' } }, required: ['from'] },
    },
  },
}

test('the list has the name, title, description, parameters and an example of each tool', () => {
  expect(
    toolListText([search, { name: 'now', description: '', inputSchema: { type: 'object' } }]),
  ).toBe(`## wiki-search (Search the wiki)
Searches a wiki.
Quickly.
Parameters:
- workspaceName (string, required): Which wiki to search.
- searchType (string, required): One of: "filter", "vector". Default: "filter".
- limit (integer, optional): How many. Default: 10.
- tags (array of string, optional)
- when (string or null, optional)
- range (object, required): Between which days.
  - from (number, required)
  - to (number, optional)
Example: <tool_use name="wiki-search">{"workspaceName":"…","searchType":"filter","range":{"from":1}}</tool_use>

## now
Parameters: none
Example: <tool_use name="now">{}</tool_use>`)
})

test('the example is a call that the scanner finds', () => {
  const [, example] = toolListText([search]).split('Example: ')
  expect(matchToolCalling(example!)).toMatchObject({
    toolId: 'wiki-search',
    parameters: { workspaceName: '…', searchType: 'filter', range: { from: 1 } },
  })
})

test('equal tools give equal bytes', () => {
  expect(toolListText([structuredClone(search)])).toBe(toolListText([search]))
})

test('schemas that refer to themselves, or are none, come to an end', () => {
  const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['next'] }
  const loop = { $ref: '#/$defs/loop' }
  const inputSchema = {
    ...node,
    $defs: { node, loop },
    properties: { ...node.properties, loop, odd: 3, __proto__: null },
  }
  const text = toolListText([{ name: 'tree', description: 'A tree.', inputSchema }])
  expect(text.split('\n').filter((line) => line.includes('next (object'))).toHaveLength(3)
  expect(text).toContain('- loop (any, optional)')
  expect(text).toContain('- odd (any, optional)')
  for (const schema of [null, 'x', [], true]) {
    const broken = { name: 'x', description: 'X.', inputSchema: schema as never }
    expect(toolListText([broken])).toContain('Parameters: none')
  }
})
