// Written by Scripts/openapi from Documentation/openapi.json.

/// The description of the API (OpenAPI 3.1).
package enum OpenAPIDocument {
  /// The document as JSON, without white space.
  package static let bytes = Array(
    #"""
    {"openapi":"3.1.0","info":{"title":"Store server","version":"1","license":{"name":"Apache L\#
    icense 2.0","identifier":"Apache-2.0"},"description":"Purchases, entitlements, events and c\#
    ontent grants of a store. Bodies are JSON in UTF-8, at most 64 KiB. Unknown members are ign\#
    ored, and null is the same as a missing member. Times are RFC 3339. Errors are problem deta\#
    ils (RFC 9457). Lengths of texts are limited in bytes of UTF-8."},"servers":[{"url":"/"}],"\#
    security":[{"bearer":[]}],"tags":[{"name":"products","description":"What the store offers"}\#
    ,{"name":"purchases","description":"Buying, finishing and changing purchases"},{"name":"acc\#
    ounts","description":"The purchases of an account"},{"name":"events","description":"Changes\#
    , in commit order"},{"name":"content","description":"URLs of packages"},{"name":"server","d\#
    escription":"State and description of the server"}],"paths":{"/v1/products":{"get":{"operat\#
    ionId":"listProducts","tags":["products"],"summary":"Look up products","description":"Retur\#
    ns the products with the given identifiers, or else all, in pages of 200; the header Link n\#
    ames the next page. Scope: read or purchase.","parameters":[{"name":"id","in":"query","desc\#
    ription":"A product identifier; may be repeated. Invalid and unknown ones are in `invalid`.\#
    ","schema":{"type":"array","items":{"type":"string"}},"style":"form","explode":true},{"name\#
    ":"cursor","in":"query","description":"From the header Link; ignored with id.","schema":{"t\#
    ype":"string"}},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"descri\#
    ption":"The products of the page, or those with the given identifiers.","headers":{"ETag":{\#
    "$ref":"#/components/headers/ETag"},"Link":{"$ref":"#/components/headers/Link"}},"content":\#
    {"application/json":{"schema":{"$ref":"#/components/schemas/Products"}}}},"304":{"descripti\#
    on":"The catalog is the same as that of If-None-Match.","headers":{"ETag":{"$ref":"#/compon\#
    ents/headers/ETag"}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/c\#
    omponents/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"503":\#
    {"$ref":"#/components/responses/Unavailable"}}}},"/v1/purchases":{"post":{"operationId":"pu\#
    rchase","tags":["purchases"],"summary":"Buy a product","description":"The key identifies th\#
    e purchase forever: repeat an interrupted request with the same key and the same body. 404:\#
     the product is not offered. 409: the same request is being processed. Scope: purchase.","p\#
    arameters":[{"name":"Idempotency-Key","in":"header","required":true,"description":"The iden\#
    tifier of the transaction.","schema":{"$ref":"#/components/schemas/Transaction"}}],"request\#
    Body":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schema\#
    s/NewPurchase"}}}},"responses":{"200":{"description":"The same request was made before: its\#
     purchase as it is now.","headers":{"Idempotent-Replayed":{"schema":{"type":"string","const\#
    ":"true"}}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Purchase"\#
    }}}},"201":{"description":"A new purchase in the state purchased, deferred or failed. It is\#
     durable.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Purchase"}\#
    }}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/response\#
    s/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/compone\#
    nts/responses/NotFound"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$ref":"#/\#
    components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedType"},"42\#
    2":{"$ref":"#/components/responses/OtherRequest"},"503":{"$ref":"#/components/responses/Una\#
    vailable"}}}},"/v1/purchases:batch":{"post":{"operationId":"purchaseBatch","tags":["purchas\#
    es"],"summary":"Buy several products in one commit","description":"Scope: purchase.","reque\#
    stBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/sche\#
    mas/Batch"}}}},"responses":{"200":{"description":"One result for each purchase, in the same\#
     order.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/BatchResults\#
    "}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/respon\#
    ses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"413":{"$ref":"#/compo\#
    nents/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedType"},"503":{"\#
    $ref":"#/components/responses/Unavailable"}}}},"/v1/purchases/{transaction}":{"parameters":\#
    [{"$ref":"#/components/parameters/Transaction"}],"get":{"operationId":"readPurchase","tags"\#
    :["purchases"],"summary":"Read a purchase","description":"Scope: read or purchase.","respon\#
    ses":{"200":{"description":"The purchase.","content":{"application/json":{"schema":{"$ref":\#
    "#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401\#
    ":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forb\#
    idden"},"404":{"$ref":"#/components/responses/NotFound"},"503":{"$ref":"#/components/respon\#
    ses/Unavailable"}}}},"/v1/purchases/{transaction}/finish":{"parameters":[{"$ref":"#/compone\#
    nts/parameters/Transaction"}],"post":{"operationId":"finishPurchase","tags":["purchases"],"\#
    summary":"Finish a purchase","description":"409: it is deferred or failed. Scope: purchase.\#
    ","responses":{"204":{"description":"It is finished; also if it was finished before."},"400\#
    ":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauth\#
    orized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/resp\#
    onses/NotFound"},"409":{"$ref":"#/components/responses/Conflict"},"503":{"$ref":"#/componen\#
    ts/responses/Unavailable"}}}},"/v1/purchases/{transaction}/approve":{"parameters":[{"$ref":\#
    "#/components/parameters/Transaction"}],"post":{"operationId":"approvePurchase","tags":["pu\#
    rchases"],"summary":"Approve a deferred or interrupted purchase","description":"Scope: admi\#
    n.","responses":{"200":{"description":"The purchase after the change; also if it was change\#
    d like this before.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/\#
    Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/component\#
    s/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":\#
    "#/components/responses/NotFound"},"409":{"$ref":"#/components/responses/Conflict"},"503":{\#
    "$ref":"#/components/responses/Unavailable"}}}},"/v1/purchases/{transaction}/decline":{"par\#
    ameters":[{"$ref":"#/components/parameters/Transaction"}],"post":{"operationId":"declinePur\#
    chase","tags":["purchases"],"summary":"Decline a deferred purchase","description":"Scope: a\#
    dmin.","requestBody":{"required":false,"content":{"application/json":{"schema":{"$ref":"#/c\#
    omponents/schemas/Change"}}}},"responses":{"200":{"description":"The purchase after the cha\#
    nge; also if it was changed like this before.","content":{"application/json":{"schema":{"$r\#
    ef":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},\#
    "401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/\#
    Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"409":{"$ref":"#/components/re\#
    sponses/Conflict"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/compon\#
    ents/responses/UnsupportedType"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v\#
    1/purchases/{transaction}/refund":{"parameters":[{"$ref":"#/components/parameters/Transacti\#
    on"}],"post":{"operationId":"refundPurchase","tags":["purchases"],"summary":"Record that th\#
    e price was paid back","description":"Scope: admin.","requestBody":{"required":false,"conte\#
    nt":{"application/json":{"schema":{"$ref":"#/components/schemas/Change"}}}},"responses":{"2\#
    00":{"description":"The purchase after the change; also if it was changed like this before.\#
    ","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400"\#
    :{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unautho\#
    rized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/respo\#
    nses/NotFound"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$ref":"#/component\#
    s/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedType"},"503":{"$ref\#
    ":"#/components/responses/Unavailable"}}}},"/v1/purchases/{transaction}/revoke":{"parameter\#
    s":[{"$ref":"#/components/parameters/Transaction"}],"post":{"operationId":"revokePurchase",\#
    "tags":["purchases"],"summary":"Take the product back","description":"Scope: admin.","reque\#
    stBody":{"required":false,"content":{"application/json":{"schema":{"$ref":"#/components/sch\#
    emas/Change"}}}},"responses":{"200":{"description":"The purchase after the change; also if \#
    it was changed like this before.","content":{"application/json":{"schema":{"$ref":"#/compon\#
    ents/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref"\#
    :"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"\#
    404":{"$ref":"#/components/responses/NotFound"},"409":{"$ref":"#/components/responses/Confl\#
    ict"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/response\#
    s/UnsupportedType"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purchases/{\#
    transaction}/reverse":{"parameters":[{"$ref":"#/components/parameters/Transaction"}],"post"\#
    :{"operationId":"reversePurchase","tags":["purchases"],"summary":"Undo a refund or a revoca\#
    tion","description":"Scope: admin.","responses":{"200":{"description":"The purchase after t\#
    he change; also if it was changed like this before.","content":{"application/json":{"schema\#
    ":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequ\#
    est"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/resp\#
    onses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"409":{"$ref":"#/compone\#
    nts/responses/Conflict"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/accoun\#
    ts/{account}/entitlements":{"parameters":[{"$ref":"#/components/parameters/Account"}],"get"\#
    :{"operationId":"listEntitlements","tags":["accounts"],"summary":"List what an account can \#
    restore","description":"Every restorable purchase in the state purchased, finished or not. \#
    Scope: read or purchase.","parameters":[{"name":"since","in":"query","description":"The `re\#
    vision` of the previous page.","schema":{"type":"integer","format":"int64","minimum":0,"max\#
    imum":9223372036854775807,"default":0}},{"name":"limit","in":"query","schema":{"type":"inte\#
    ger","minimum":1,"maximum":1000,"default":1000}},{"$ref":"#/components/parameters/IfNoneMat\#
    ch"}],"responses":{"200":{"description":"A page in the order of the last changes.","headers\#
    ":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$\#
    ref":"#/components/schemas/Purchases"}}}},"304":{"description":"The page is the same as tha\#
    t of If-None-Match.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}}},"400":{"$ref"\#
    :"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},\#
    "403":{"$ref":"#/components/responses/Forbidden"},"503":{"$ref":"#/components/responses/Una\#
    vailable"}}}},"/v1/accounts/{account}/history":{"parameters":[{"$ref":"#/components/paramet\#
    ers/Account"}],"get":{"operationId":"listHistory","tags":["accounts"],"summary":"List all p\#
    urchases of an account","description":"Also consumables, and purchases in other states. Sco\#
    pe: read or purchase.","parameters":[{"name":"since","in":"query","description":"The `revis\#
    ion` of the previous page.","schema":{"type":"integer","format":"int64","minimum":0,"maximu\#
    m":9223372036854775807,"default":0}},{"name":"limit","in":"query","schema":{"type":"integer\#
    ","minimum":1,"maximum":1000,"default":1000}},{"$ref":"#/components/parameters/IfNoneMatch"\#
    }],"responses":{"200":{"description":"A page in the order of the last changes.","headers":{\#
    "ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref\#
    ":"#/components/schemas/Purchases"}}}},"304":{"description":"The page is the same as that o\#
    f If-None-Match.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}}},"400":{"$ref":"#\#
    /components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"40\#
    3":{"$ref":"#/components/responses/Forbidden"},"503":{"$ref":"#/components/responses/Unavai\#
    lable"}}}},"/v1/accounts/{account}/erase":{"parameters":[{"$ref":"#/components/parameters/A\#
    ccount"}],"post":{"operationId":"eraseAccount","tags":["accounts"],"summary":"Replace the n\#
    ame of an account by a random one","description":"Scope: admin.","responses":{"204":{"descr\#
    iption":"No purchase has the name any more."},"400":{"$ref":"#/components/responses/BadRequ\#
    est"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/resp\#
    onses/Forbidden"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/events":{"get\#
    ":{"operationId":"listEvents","tags":["events"],"summary":"Wait for events","description":"\#
    With `Accept: text/event-stream`, the response is a stream. 410: the cursor is older than 3\#
    0 days, or of another ledger, such as before a restore. Read the entitlements then. Scope: \#
    read or purchase.","parameters":[{"name":"after","in":"query","description":"The cursor of \#
    the last event; without it, only new events.","schema":{"$ref":"#/components/schemas/Cursor\#
    "}},{"name":"wait","in":"query","description":"Seconds to wait for the first event.","schem\#
    a":{"type":"integer","minimum":0,"maximum":30,"default":0}},{"name":"limit","in":"query","s\#
    chema":{"type":"integer","minimum":1,"maximum":200,"default":200}},{"name":"Last-Event-ID",\#
    "in":"header","description":"Like `after`, for a stream that continues; ignored for a respo\#
    nse in JSON.","schema":{"type":"string"}}],"responses":{"200":{"description":"Events, or no\#
    ne after `wait`. A stream sends each event with its cursor as id, its kind as event and its\#
     JSON as data, and a comment every 15 s. It ends after 15 minutes.","content":{"application\#
    /json":{"schema":{"$ref":"#/components/schemas/Events"}},"text/event-stream":{"schema":{"ty\#
    pe":"string"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/compon\#
    ents/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"410":{"$re\#
    f":"#/components/responses/Gone"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/\#
    v1/content-grants":{"post":{"operationId":"grantContent","tags":["content"],"summary":"Get \#
    the URLs of purchased contents","description":"403: a content is not in a purchase in the s\#
    tate purchased. 404: the version is not offered any more. Scope: content.","requestBody":{"\#
    required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/GrantR\#
    equest"}}}},"responses":{"200":{"description":"The package and the index of each content, a\#
    t every content URL. `urls` is empty if the packages are public.","content":{"application/j\#
    son":{"schema":{"$ref":"#/components/schemas/Grants"}}}},"400":{"$ref":"#/components/respon\#
    ses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/comp\#
    onents/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"413":{"$ref"\#
    :"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedType"}\#
    ,"503":{"$ref":"#/components/responses/Unavailable"}}}},"/internal/authorize":{"get":{"oper\#
    ationId":"authorize","tags":["content"],"summary":"Decide about a request of the content ho\#
    st","description":"For nginx's module auth_request. Only the grant in the URL counts; Autho\#
    rization is ignored.","security":[],"parameters":[{"name":"X-Original-URI","in":"header","d\#
    escription":"The request target of the client, `$request_uri`.","schema":{"type":"string"}}\#
    ],"responses":{"204":{"description":"The request is allowed.","headers":{"Cache-Control":{"\#
    schema":{"type":"string","pattern":"^max-age=[0-9]+$"}}}},"401":{"description":"The URL has\#
     no grant."},"403":{"description":"The grant is invalid or has expired, or the path is ambi\#
    guous."}}}},"/healthz":{"get":{"operationId":"readHealth","tags":["server"],"summary":"Chec\#
    k that the process lives","security":[],"responses":{"200":{"description":"It lives.","cont\#
    ent":{"application/json":{"schema":{"type":"object","required":["status"],"properties":{"st\#
    atus":{"const":"ok"}}}}}}}}},"/readyz":{"get":{"operationId":"readReadiness","tags":["serve\#
    r"],"summary":"Check that the ledger and the catalog can be read","security":[],"responses"\#
    :{"200":{"description":"Both can be read.","content":{"application/json":{"schema":{"type":\#
    "object","required":["status"],"properties":{"status":{"const":"ready"}}}}}},"503":{"$ref":\#
    "#/components/responses/Unavailable"}}}},"/v1/openapi.json":{"get":{"operationId":"readDesc\#
    ription","tags":["server"],"summary":"Read this document","security":[],"responses":{"200":\#
    {"description":"An OpenAPI document.","content":{"application/json":{"schema":{"type":"obje\#
    ct","required":["openapi","info","paths"]}}}}}}}},"components":{"securitySchemes":{"bearer"\#
    :{"type":"http","scheme":"bearer","description":"An opaque token (`hct_` and 43 characters)\#
    , or a JWT (ES256 or EdDSA) with kid, iss = kid, aud = the server's origin, exp at most 15 \#
    minutes ahead, jti, and optionally sub = the only account that it can use."}},"parameters":\#
    {"Transaction":{"name":"transaction","in":"path","required":true,"schema":{"type":"string",\#
    "pattern":"^[!-~]{1,128}$"}},"Account":{"name":"account","in":"path","required":true,"descr\#
    iption":"At most 256 bytes; `-` is the caller's own account. A slash is sent as %2F.","sche\#
    ma":{"type":"string","minLength":1,"maxLength":256,"pattern":"^[^\\u0000-\\u001F\\u007F]+$"\#
    }},"IfNoneMatch":{"name":"If-None-Match","in":"header","schema":{"type":"string"}}},"header\#
    s":{"ETag":{"description":"A strong entity tag.","schema":{"type":"string"}},"Link":{"descr\#
    iption":"The next page, with rel=\"next\".","schema":{"type":"string"}},"RetryAfter":{"desc\#
    ription":"Seconds to wait.","schema":{"type":"string","pattern":"^[0-9]+$"}}},"responses":{\#
    "BadRequest":{"description":"The request is invalid.","content":{"application/problem+json"\#
    :{"schema":{"$ref":"#/components/schemas/Problem"}}}},"Unauthorized":{"description":"The to\#
    ken or JWT is missing, invalid, expired or revoked.","headers":{"WWW-Authenticate":{"schema\#
    ":{"type":"string"}}},"content":{"application/problem+json":{"schema":{"$ref":"#/components\#
    /schemas/Problem"}}}},"Forbidden":{"description":"The caller may not do this.","content":{"\#
    application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"NotFound":{\#
    "description":"Not found.","content":{"application/problem+json":{"schema":{"$ref":"#/compo\#
    nents/schemas/Problem"}}}},"Conflict":{"description":"The change is not possible now; `stat\#
    e` is the state of the purchase.","headers":{"Retry-After":{"$ref":"#/components/headers/Re\#
    tryAfter"}},"content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/P\#
    roblem"}}}},"Gone":{"description":"The events after the cursor are not available.","content\#
    ":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"TooLarg\#
    e":{"description":"The body is too large.","content":{"application/problem+json":{"schema":\#
    {"$ref":"#/components/schemas/Problem"}}}},"UnsupportedType":{"description":"The body is no\#
    t declared as JSON.","content":{"application/problem+json":{"schema":{"$ref":"#/components/\#
    schemas/Problem"}}}},"OtherRequest":{"description":"The transaction identifier was used for\#
     a different request.","content":{"application/problem+json":{"schema":{"$ref":"#/component\#
    s/schemas/Problem"}}}},"Unavailable":{"description":"The server cannot process the request \#
    now.","headers":{"Retry-After":{"$ref":"#/components/headers/RetryAfter"}},"content":{"appl\#
    ication/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}}},"schemas":{"Pro\#
    blem":{"type":"object","required":["type","title","status","detail","code","remedy"],"prope\#
    rties":{"type":{"const":"about:blank"},"title":{"type":"string"},"status":{"type":"integer"\#
    ,"minimum":400,"maximum":599},"detail":{"type":"string"},"code":{"type":"integer","descript\#
    ion":"The number of the error in this project."},"remedy":{"type":"string"},"subject":{"typ\#
    e":"string"},"state":{"$ref":"#/components/schemas/State"}}},"Identifier":{"type":"string",\#
    "pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$","not":{"const":"CACHEDIR.TAG"}},"Version":{"\#
    type":"string","maxLength":200,"pattern":"^[0-9]{1,18}(\\.[0-9]{1,18}){0,15}$"},"Transactio\#
    n":{"type":"string","pattern":"^[!-~]{1,128}$"},"AccountName":{"type":["string","null"],"mi\#
    nLength":1,"maxLength":256,"pattern":"^[^\\u0000-\\u001F\\u007F]*$","description":"An opaqu\#
    e name of at most 256 bytes. Missing or `-`: the caller's own account. Names that begin wit\#
    h `key-` are reserved."},"Cursor":{"type":"string","maxLength":128,"description":"Opaque.",\#
    "pattern":"^([!-\\-/-~]{1,64}\\.(0|[1-9][0-9]{0,17}))?$"},"State":{"enum":["deferred","purc\#
    hased","failed","refunded","revoked"]},"Content":{"type":"object","required":["contentIdent\#
    ifier","version"],"properties":{"contentIdentifier":{"$ref":"#/components/schemas/Identifie\#
    r"},"version":{"$ref":"#/components/schemas/Version"}}},"NewPurchase":{"type":"object","req\#
    uired":["productIdentifier"],"properties":{"productIdentifier":{"$ref":"#/components/schema\#
    s/Identifier"},"account":{"$ref":"#/components/schemas/AccountName"},"quantity":{"type":["i\#
    nteger","null"],"minimum":1,"maximum":10,"default":1},"askToBuy":{"type":["boolean","null"]\#
    ,"default":false,"description":"Defers the purchase until an administrator approves or decl\#
    ines it."},"voucher":{"type":["string","null"],"maxLength":256,"pattern":"^[^\\u0000-\\u001\#
    F\\u007F]*$","description":"A code that pays for the product, if the server sells by vouche\#
    rs."}}},"Batch":{"type":"object","required":["purchases"],"properties":{"purchases":{"type"\#
    :"array","minItems":1,"maxItems":64,"items":{"anyOf":[{"type":"object","required":["transac\#
    tionIdentifier","productIdentifier"],"properties":{"transactionIdentifier":{"$ref":"#/compo\#
    nents/schemas/Transaction"},"productIdentifier":{"$ref":"#/components/schemas/Identifier"},\#
    "account":{"$ref":"#/components/schemas/AccountName"},"quantity":{"type":["integer","null"]\#
    ,"minimum":1,"maximum":10,"default":1},"askToBuy":{"type":["boolean","null"],"default":fals\#
    e,"description":"Defers the purchase until an administrator approves or declines it."},"vou\#
    cher":{"type":["string","null"],"maxLength":256,"pattern":"^[^\\u0000-\\u001F\\u007F]*$","d\#
    escription":"A code that pays for the product, if the server sells by vouchers."}}},{"descr\#
    iption":"Anything else gets a problem as its result."}]}}}},"BatchResults":{"type":"object"\#
    ,"required":["results"],"properties":{"results":{"type":"array","minItems":1,"maxItems":64,\#
    "items":{"oneOf":[{"type":"object","required":["status","purchase"],"properties":{"status":\#
    {"enum":[200,201]},"purchase":{"$ref":"#/components/schemas/Purchase"}}},{"type":"object","\#
    required":["status","problem"],"properties":{"status":{"type":"integer","minimum":400,"maxi\#
    mum":599},"problem":{"$ref":"#/components/schemas/Problem"}}}]}}}},"Purchase":{"type":"obje\#
    ct","required":["transactionIdentifier","productIdentifier","account","quantity","state","p\#
    urchaseDate","receipt","contents","isRestorable","isFinished","revision"],"properties":{"tr\#
    ansactionIdentifier":{"type":"string"},"productIdentifier":{"$ref":"#/components/schemas/Id\#
    entifier"},"account":{"type":["string","null"]},"quantity":{"type":"integer","minimum":1,"m\#
    aximum":10},"state":{"$ref":"#/components/schemas/State"},"purchaseDate":{"type":"string","\#
    format":"date-time"},"receipt":{"type":["string","null"],"description":"A signed receipt (J\#
    WS); null before the purchase."},"contents":{"type":"array","items":{"$ref":"#/components/s\#
    chemas/Content"}},"isRestorable":{"type":"boolean"},"isFinished":{"type":"boolean"},"revisi\#
    on":{"type":"integer","format":"int64"},"isInterrupted":{"const":true,"description":"It fai\#
    led because the buyer must first do something at the seller."},"reason":{"type":"string"},"\#
    revocationDate":{"type":"string","format":"date-time"}}},"Purchases":{"type":"object","requ\#
    ired":["transactions","revision","hasMore"],"properties":{"transactions":{"type":"array","m\#
    axItems":1000,"items":{"$ref":"#/components/schemas/Purchase"}},"revision":{"type":"integer\#
    ","format":"int64","description":"`since` of the next request."},"hasMore":{"type":"boolean\#
    "}}},"Change":{"type":"object","properties":{"reason":{"type":["string","null"],"maxLength"\#
    :1000,"pattern":"^[^\\u0000-\\u001F\\u007F]*$"}}},"Event":{"type":"object","required":["cur\#
    sor","kind","account","transaction","at","purchase"],"properties":{"cursor":{"$ref":"#/comp\#
    onents/schemas/Cursor"},"kind":{"enum":["purchased","decided","refunded","revoked","reverse\#
    d","published"],"description":"Other kinds may be added."},"account":{"type":["string","nul\#
    l"]},"transaction":{"type":["string","null"]},"at":{"type":"string","format":"date-time"},"\#
    purchase":{"oneOf":[{"$ref":"#/components/schemas/Purchase"},{"type":"null"}]}}},"Events":{\#
    "type":"object","required":["events","cursor"],"properties":{"events":{"type":"array","maxI\#
    tems":200,"items":{"$ref":"#/components/schemas/Event"}},"cursor":{"$ref":"#/components/sch\#
    emas/Cursor"}}},"GrantRequest":{"type":"object","required":["contents"],"description":"Of a\#
    n account, or of one transaction.","properties":{"transaction":{"type":["string","null"],"m\#
    axLength":128,"pattern":"^[^\\u0000-\\u001F\\u007F]*$"},"account":{"$ref":"#/components/sch\#
    emas/AccountName"},"contents":{"type":"array","minItems":1,"maxItems":64,"items":{"$ref":"#\#
    /components/schemas/Content"}}},"not":{"required":["transaction","account"],"properties":{"\#
    transaction":{"type":"string"},"account":{"type":"string"}}}},"Grants":{"type":"object","re\#
    quired":["expires","files"],"properties":{"expires":{"type":"string","format":"date-time"},\#
    "files":{"type":"array","maxItems":128,"items":{"type":"object","required":["target","urls"\#
    ],"properties":{"target":{"type":"string","description":"The path of the file below the sto\#
    re."},"urls":{"type":"array","items":{"type":"string","format":"uri"},"description":"Secret\#
     until they expire."}}}}}},"Products":{"type":"object","required":["products","invalid","fa\#
    ilures","version"],"properties":{"products":{"type":"array","maxItems":200,"items":{"$ref":\#
    "#/components/schemas/Product"}},"invalid":{"type":"array","items":{"type":"string"}},"fail\#
    ures":{"type":"array","items":{"$ref":"#/components/schemas/Failure"}},"version":{"type":"s\#
    tring","description":"The version of the catalog."}}},"Failure":{"type":"object","required"\#
    :["code","message","remedy","subject"],"properties":{"code":{"type":"integer"},"message":{"\#
    type":"string"},"remedy":{"type":"string"},"subject":{"type":["string","null"]}}},"Product"\#
    :{"type":"object","required":["productIdentifier","type","texts","contents"],"properties":{\#
    "productIdentifier":{"$ref":"#/components/schemas/Identifier"},"type":{"enum":["non-consuma\#
    ble","consumable","auto-renewable","non-renewing"]},"texts":{"type":"object","description":\#
    "By language (BCP 47).","additionalProperties":{"type":"object","required":["title","descri\#
    ption"],"properties":{"title":{"type":"string"},"description":{"type":"string"},"releaseNot\#
    es":{"type":"string"}}}},"price":{"type":"string","pattern":"^[0-9]+(\\.[0-9]+)?$"},"curren\#
    cy":{"type":"string"},"contents":{"type":"array","items":{"$ref":"#/components/schemas/Offe\#
    r"}},"withdrawnVersions":{"type":"object","additionalProperties":{"type":"array","items":{"\#
    $ref":"#/components/schemas/Version"}}}}},"Offer":{"type":"object","required":["productIden\#
    tifier","contentIdentifier","version","installedSize","package","index"],"properties":{"pro\#
    ductIdentifier":{"$ref":"#/components/schemas/Identifier"},"contentIdentifier":{"$ref":"#/c\#
    omponents/schemas/Identifier"},"version":{"$ref":"#/components/schemas/Version"},"installed\#
    Size":{"type":"integer","minimum":0},"package":{"$ref":"#/components/schemas/File"},"index"\#
    :{"$ref":"#/components/schemas/File"},"signers":{"type":"string"},"withdrawnVersions":{"typ\#
    e":"array","items":{"$ref":"#/components/schemas/Version"}}}},"File":{"type":"object","requ\#
    ired":["path","length","digest"],"properties":{"path":{"type":"string"},"length":{"type":"i\#
    nteger","minimum":0},"digest":{"type":"string","pattern":"^[0-9a-f]{64}$"}}}}}}
    """#.utf8)
}
