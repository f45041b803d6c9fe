import type { Client } from '@modelcontextprotocol/client'
import { defaultCallTimeout } from './config.ts'
import type { McpServer } from './connections.ts'
import { withoutSecrets } from './failures.ts'
import { secretsOf } from './secrets-of.ts'
import type { ServerLink } from './server-link.ts'

/** What a host program gets of a link: to look at, and to ask for prompts and resources. */
export function serverView(link: ServerLink): McpServer {
  const { config } = link
  const timeout = config.callTimeout ?? defaultCallTimeout
  async function ask<T>(question: (client: Client) => Promise<T>): Promise<T> {
    try {
      return await question(await link.client())
    } catch (error) {
      throw withoutSecrets(error, config.name, secretsOf(config))
    }
  }
  const has = (one: Client, what: 'prompts' | 'resources'): boolean => one.getServerCapabilities()?.[what] !== undefined
  return {
    name: config.name,
    transport: config.transport,
    get state() {
      return link.state
    },
    get problem() {
      return link.problem
    },
    get protocolVersion() {
      return link.opened?.client.getNegotiatedProtocolVersion()
    },
    get instructions() {
      return link.opened?.client.getInstructions()
    },
    get stderr() {
      return link.stderr
    },
    get toolNames() {
      return link.tools.list.map(({ spec }) => spec.name)
    },
    get notes() {
      return link.tools.notes
    },
    async connect() {
      link.forgive()
      await link.client()
    },
    listPrompts: () =>
      ask(async (one) =>
        has(one, 'prompts') ? (await one.listPrompts(undefined, { timeout })).prompts.map(plain) : [],
      ),
    getPrompt: (name, args = {}) =>
      ask(async (one) => {
        const { description, messages } = await one.getPrompt({ name, arguments: { ...args } }, { timeout })
        return { description, messages }
      }),
    listResources: () =>
      ask(async (one) =>
        has(one, 'resources') ? (await one.listResources(undefined, { timeout })).resources.map(plain) : [],
      ),
    listResourceTemplates: () =>
      ask(async (one) =>
        has(one, 'resources')
          ? (await one.listResourceTemplates(undefined, { timeout })).resourceTemplates.map(plain)
          : [],
      ),
    readResource: (uri) => ask(async (one) => (await one.readResource({ uri }, { timeout })).contents.map(plain)),
  }
}

/** Without what is of no use to a program: hints and icons, which are the server's own word. */
function plain<T extends { _meta?: unknown; annotations?: unknown; icons?: unknown }>(
  one: T,
): Omit<T, '_meta' | 'annotations' | 'icons'> {
  const { _meta: _, annotations: __, icons: ___, ...rest } = one
  return rest
}
