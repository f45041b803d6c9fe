import { AgentError } from '../core/errors.ts'

/** A connection was given up because its agent is being closed. */
export class AgentClosedError extends AgentError {
  constructor() {
    super('the agent is being closed')
  }
}
