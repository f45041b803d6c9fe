import { defineCommand, type Flags, type Values } from '../command.ts'
import { checkServe, serveFlags } from './serve.ts'

const webFlags = {
  ...serveFlags,
  port: { ...serveFlags.port, says: 'The port to listen on; default: that of the last time, else any free one' },
  'no-open': { type: 'boolean', says: 'Print the address, and open no browser' },
} as const satisfies Flags

/** The flags of `libero web`, as they were given. */
export type WebValues = Values<typeof webFlags>

export const command = defineCommand({
  name: 'web',
  summary: 'Open the page for all sessions in a browser',
  details: [
    'Serves the page together with the API of libero serve: conversations, what waits for you, agents and schedules, logs, costs, rules and tools. Prints “open http://127.0.0.1:PORT/#token=…”; the browser trades the token for a cookie. A run goes on when the page is closed.',
    'Ctrl-C and SIGTERM end it. Runs under way are continued at the next start.',
  ],
  flags: webFlags,
  examples: [
    { line: 'libero web', says: 'On this machine only; opens the browser' },
    { line: 'libero web --port 0 --no-open', says: 'Any free port; print the address' },
    {
      line: 'libero web --port 7777 --host 0.0.0.0 --allowed-host box.example.com',
      says: 'For other machines; put a proxy with TLS before it',
    },
  ],
  run: async ({ values }, io) => (await import('../serve/web.ts')).web(checkServe(values), io),
})
