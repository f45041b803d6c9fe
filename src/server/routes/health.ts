import { version } from '../../core/version.ts'
import { Problem } from '../problem.ts'
import { json, type Route } from '../route.ts'

/** Health, readiness, metrics, and the document of all routes. */
export const healthRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/healthz',
    scope: 'public',
    summary: 'The process answers',
    answers: { 200: { description: 'It does', type: 'text/plain' } },
    handle: () => new Response('ok\n', { headers: { 'content-type': 'text/plain', 'cache-control': 'no-store' } }),
  },
  {
    method: 'GET',
    path: '/readyz',
    scope: 'public',
    summary: 'The store answers too',
    answers: { 200: { description: 'It does', type: 'text/plain' }, 503: { description: 'It does not' } },
    async handle({ server: { store } }) {
      await store.list({ limit: 1 }).catch(() => {
        throw new Problem(503, 'store_unavailable', 'The store does not answer')
      })
      return new Response('ready\n', { headers: { 'content-type': 'text/plain', 'cache-control': 'no-store' } })
    },
  },
  {
    method: 'GET',
    path: '/metrics',
    scope: 'admin',
    summary: 'Counts in the text format of Prometheus',
    answers: { 200: { description: 'One line each', type: 'text/plain' } },
    handle({ names, server: { work, rates, clock, startedAt } }) {
      if (names.tenant !== undefined) throw new Problem(403, 'not_for_tenants', 'These numbers are about all tenants')
      const gauges: readonly (readonly [name: string, help: string, value: number])[] = [
        ['libero_runs', 'Runs under way in this process', work.running],
        ['libero_runs_waiting', 'Sessions that wait for their turn', work.waiting],
        ['libero_streams', 'Open event streams', rates.streams],
        ['libero_uptime_seconds', 'Since the server was made', (clock.now() - startedAt) / 1000],
        ['libero_memory_bytes', 'Resident memory of the process', process.memoryUsage.rss()],
      ]
      const lines = gauges.flatMap(([name, help, value]) => [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} gauge`,
        `${name} ${value}`,
      ])
      return new Response(`${lines.join('\n')}\n`, {
        headers: { 'content-type': 'text/plain; version=0.0.4', 'cache-control': 'no-store' },
      })
    },
  },
  {
    method: 'GET',
    path: '/v1/openapi.json',
    scope: 'public',
    summary: 'This document',
    answers: { 200: { description: 'OpenAPI 3.1', schema: { type: 'object' } } },
    async handle({ server: { routes } }) {
      const { openApiDocument } = await import('../openapi.ts')
      return json(openApiDocument(routes, version))
    },
  },
]
