/**
 * Under this name the log says who is next: `human` where a plugin handed over, `canceled` where somebody did not want
 * to answer, `interrupted` where the process ended in good order and the next one goes on, any state where a handler
 * came to it by itself (see `handler-note.ts`).
 */
export const yieldOwner = 'workflow:yield'
