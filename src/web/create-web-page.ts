import type { LiberoServer } from '../server/create-server.ts'
import { checkHostGuard, guardHost } from '../server/host-guard.ts'
import { problemOf } from '../server/problem.ts'
import { htmlHeaders, staticHeaders } from './page-headers.ts'

/** The page of Libero for a browser: sessions, what waits for a person, agents, logs, costs, rules and tools. */
export function createWebPage({
  server,
  basePath = '',
  allowedHosts,
  renderers,
}: {
  /** Names by which a browser may call the page, as in `ServerOptions`. */
  readonly allowedHosts?: readonly string[]
  /** The server that the page talks to, below the same `basePath`. */
  readonly server: Pick<LiberoServer, 'fetch'>
  /** The path before the page and the routes, such as `/libero`. Default: empty. */
  readonly basePath?: string
  /** The text of a JavaScript module that adds renderers to the page; see `RendererKit`. */
  readonly renderers?: string
}): {
  /** Answers requests for the page, and passes those for the server on to it. Never rejects. */
  fetch(request: Request): Promise<Response>
} {
  if (typeof server?.fetch !== 'function') throw new TypeError('createWebPage needs a server, as createServer makes it')
  if (basePath !== '' && !/^(\/[\w.~-]+)+$/.test(basePath))
    throw new TypeError(
      `basePath is a path such as /libero, without a slash at its end, got ${JSON.stringify(basePath)}`,
    )
  const guard = allowedHosts === undefined ? {} : { allowedHosts }
  checkHostGuard(guard)
  if (renderers !== undefined && typeof renderers !== 'string')
    throw new TypeError(`renderers is the text of a JavaScript module, got ${typeof renderers}; read the file first`)
  let files: Promise<ReadonlyMap<string, PageFile>> | undefined
  const load = (): Promise<ReadonlyMap<string, PageFile>> => {
    files ??= loadFiles(basePath, renderers).catch((error: unknown) => {
      files = undefined // the next request tries again
      throw error
    })
    return files
  }

  return {
    async fetch(request) {
      const path = pathBelow(basePath, new URL(request.url).pathname)
      if (path === undefined || isOfServer(path)) return server.fetch(request)
      try {
        guardHost(request, guard)
        if (request.method !== 'GET' && request.method !== 'HEAD')
          return new Response(null, { status: 405, headers: { allow: 'GET, HEAD' } })
        const all = await load()
        const isFile = path.startsWith('/assets/')
        const file = all.get(isFile ? path : '/index.html')
        return file ? await answer(request, file) : new Response('There is no such file', { status: 404 })
      } catch (error) {
        const problem = problemOf(error)
        if (problem) return problem.toResponse()
        console.error('libero web:', error)
        return new Response('The page cannot be read; the log of the server says why', { status: 500 })
      }
    },
  }
}

/** A file of the page, compressed once. */
interface PageFile {
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  gzip?: Promise<ArrayBuffer>
}

function pathBelow(basePath: string, path: string): string | undefined {
  if (path === basePath) return '/'
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined
}

const isOfServer = (path: string): boolean => /^\/(v1|healthz|readyz|metrics)(\/|$)/.test(path)

async function loadFiles(basePath: string, renderers?: string): Promise<ReadonlyMap<string, PageFile>> {
  const { pageFiles } = await import('./page-files.ts')
  const texts = { ...(await pageFiles()) }
  if (renderers !== undefined) {
    const path = `/assets/renderers-${await shortDigest(renderers)}.js`
    texts[path] = renderers
    texts['/index.html'] = texts['/index.html']!.replace(
      '<title>',
      `<meta name="libero-renderers" content=".${path}" /><title>`,
    )
  }
  const files = Object.entries(texts).map(([path, text]): [string, PageFile] =>
    path === '/index.html'
      ? [path, { headers: htmlHeaders, text: text.replaceAll('"./', `"${basePath}/`) }]
      : [path, { headers: staticHeaders(path), text }],
  )
  return new Map(files)
}

/** Browsers keep a file for ever; another text has another name. */
async function shortDigest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return Array.from(bytes.slice(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

async function answer({ method, headers }: Request, file: PageFile): Promise<Response> {
  const isGzip = /\bgzip\b/.test(headers.get('accept-encoding') ?? '')
  const body = isGzip ? await (file.gzip ??= gzipped(file.text)) : file.text
  return new Response(method === 'HEAD' ? null : body, {
    headers: { ...file.headers, ...(isGzip && { 'content-encoding': 'gzip' }), vary: 'accept-encoding' },
  })
}

const gzipped = (text: string): Promise<ArrayBuffer> =>
  new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer()
