import type { Agent } from '../../core/agent.ts'
import type { InteractionKind, InteractionResponse } from '../../core/interaction.ts'
import type { RunOptions } from '../../core/run.ts'
import { askableKinds } from './elicitation.ts'

/** What an agent is to be made for. */
export interface AgentWish {
  /** For `createAgent({ authority: { interactors } })`: the user of the client. Empty where the client cannot ask him. */
  readonly interactors: readonly ClientPerson[]
  /** The conversation that `run_agent` is to begin or to go on with; absent where tools are called one by one. */
  readonly sessionId?: string
}

/** The user of a client, as an authority asks him. */
export interface ClientPerson {
  readonly name: string
  readonly kinds: readonly InteractionKind[]
  present(question: ClientQuestion): Promise<InteractionResponse>
}

export interface ClientQuestion {
  readonly kind: InteractionKind
  readonly payload: Readonly<Record<string, unknown>>
  /** Aborted when it is not asked any more. */
  readonly signal: AbortSignal
}

/** An agent with what its runs take, and what has to be closed with it. */
export interface OwnedAgent {
  readonly agent: Agent
  readonly run?: Pick<RunOptions, 'model' | 'thinking'>
  /** In place of `agent.destroy()`. */
  close(): Promise<void>
}

/** Makes an agent, another one each time. */
export type MakeAgent = (wish: AgentWish) => Agent | OwnedAgent | Promise<Agent | OwnedAgent>

/** An agent that calls are done with, one after another, and whoever can be asked about the present one. */
export interface Seat extends Required<OwnedAgent> {
  readonly canAsk: boolean
  ask: ClientPerson['present'] | undefined
}

/** Has an agent made. */
export async function openSeat(make: MakeAgent, wish: { canAsk: boolean; sessionId?: string }): Promise<Seat> {
  const { canAsk, sessionId } = wish
  const person: ClientPerson = {
    name: 'client',
    // A conversation may be gone on with by a client that cannot ask: then nobody is there.
    get kinds() {
      return seat?.ask ? askableKinds : []
    },
    async present(question) {
      if (!seat?.ask) throw new Error('the client that could be asked is gone')
      return seat.ask(question)
    },
  }
  let seat: Seat | undefined
  const made = await make({ interactors: canAsk ? [person] : [], ...(sessionId !== undefined && { sessionId }) })
  const { agent, run = {}, close } = 'agent' in made ? made : { agent: made, close: () => made.destroy() }
  seat = { agent, run, close, canAsk, ask: undefined }
  return seat
}
