import { AgentError } from '../../core/errors.ts'
import { offered } from '../about.ts'
import { Problem } from '../problem.ts'
import { json, type Route } from '../route.ts'

/** Wikitext, rendered by TiddlyWiki. */
export const wikitextRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/wikitext',
    scope: 'read',
    summary: 'Renders wikitext to a tree of allowed elements, of which a page makes elements, never HTML',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['text'],
      properties: { text: { type: 'string', maxLength: 100_000 } },
    },
    answers: {
      200: {
        description: 'Texts and elements: { tag, attributes?, children? }. Links lead to http, https and mailto only',
        schema: { type: 'object', required: ['nodes'], properties: { nodes: { type: 'array' } } },
        example: { nodes: [{ tag: 'p', children: ['A ', { tag: 'strong', children: ['word'] }] }] },
      },
      422: { description: 'It cannot be rendered, or not in time' },
    },
    async handle(call) {
      const render = offered(call, 'wikitext', 'wikitext')
      try {
        return json({ nodes: await render(String(call.body.text), call.caller) })
      } catch (error) {
        if (error instanceof AgentError) throw new Problem(422, 'not_rendered', error.message)
        throw error
      }
    },
  },
]
