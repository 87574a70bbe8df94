// Ask by the AI SDK's own transport and reader: node ask.mjs ADDRESS QUESTION BOOK [KEY]
// Prints the message that a page would show, as JSON.
import { AbstractChat, DefaultChatTransport } from "ai";

const [api, question, book, key] = process.argv.slice(2);

class Messages {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, message);
  };
  snapshot = (thing) => structuredClone(thing);
}

class Chat extends AbstractChat {}

const headers = key ? { Authorization: `Bearer ${key}` } : {};
const state = new Messages();
const chat = new Chat({
  state,
  transport: new DefaultChatTransport({ api, headers, body: { book } }),
});
await chat.sendMessage({ text: question });
if (state.status === "ready") await chat.sendMessage({ text: question });
const error = state.error && { name: state.error.constructor.name, message: state.error.message };
console.log(JSON.stringify({ messages: state.messages, status: state.status, error }));
