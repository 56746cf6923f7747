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
    ionId":"listProducts","tags":["products"],"summary":"Look up products","description":"Witho\#
    ut id, returns all products in pages of 200; the header Link names the next page. Scope: re\#
    ad or purchase.","parameters":[{"name":"id","in":"query","description":"A product identifie\#
    r; may be repeated. Invalid and unknown ones are in `invalid`.","schema":{"type":"array","m\#
    axItems":200,"items":{"type":"string"}},"style":"form","explode":true},{"name":"cursor","in\#
    ":"query","description":"From the header Link; ignored with id.","schema":{"type":"string"}\#
    },{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"The pr\#
    oducts of the page, or those with the given identifiers.","headers":{"ETag":{"$ref":"#/comp\#
    onents/headers/ETag"},"Link":{"$ref":"#/components/headers/Link"}},"content":{"application/\#
    json":{"schema":{"$ref":"#/components/schemas/Products"}}}},"304":{"description":"The catal\#
    og is the same as that of If-None-Match.","headers":{"ETag":{"$ref":"#/components/headers/E\#
    Tag"}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/resp\#
    onses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"503":{"$ref":"#/com\#
    ponents/responses/Unavailable"}}}},"/v1/purchases":{"post":{"operationId":"purchase","tags"\#
    :["purchases"],"summary":"Buy a product","description":"The key identifies the purchase for\#
    ever: repeat an interrupted request with the same key and the same body. 404: the product i\#
    s not offered. 409: the same request is being processed. Scope: purchase.","parameters":[{"\#
    name":"Idempotency-Key","in":"header","required":true,"description":"The identifier of the \#
    transaction.","schema":{"$ref":"#/components/schemas/Transaction"}}],"requestBody":{"requir\#
    ed":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/NewPurchase"\#
    }}}},"responses":{"200":{"description":"The same request was made before: its purchase as i\#
    t is now.","headers":{"Idempotent-Replayed":{"schema":{"type":"string","const":"true"}}},"c\#
    ontent":{"application/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"201":{"d\#
    escription":"A new purchase in the state purchased, deferred or failed. It is durable.","co\#
    ntent":{"application/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$r\#
    ef":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized\#
    "},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/\#
    NotFound"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$ref":"#/components/res\#
    ponses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedType"},"422":{"$ref":"#/\#
    components/responses/OtherRequest"},"503":{"$ref":"#/components/responses/Unavailable"}}}},\#
    "/v1/purchases:batch":{"post":{"operationId":"purchaseBatch","tags":["purchases"],"summary"\#
    :"Buy several products in one commit","description":"Scope: purchase.","requestBody":{"requ\#
    ired":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Batch"}}}}\#
    ,"responses":{"200":{"description":"One result for each purchase, in the same order.","cont\#
    ent":{"application/json":{"schema":{"$ref":"#/components/schemas/BatchResults"}}}},"400":{"\#
    $ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthoriz\#
    ed"},"403":{"$ref":"#/components/responses/Forbidden"},"413":{"$ref":"#/components/response\#
    s/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedType"},"503":{"$ref":"#/compo\#
    nents/responses/Unavailable"}}}},"/v1/purchases/{transaction}":{"parameters":[{"$ref":"#/co\#
    mponents/parameters/Transaction"}],"get":{"operationId":"readPurchase","tags":["purchases"]\#
    ,"summary":"Read a purchase","description":"Scope: read or purchase.","responses":{"200":{"\#
    description":"The purchase.","content":{"application/json":{"schema":{"$ref":"#/components/\#
    schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/c\#
    omponents/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":\#
    {"$ref":"#/components/responses/NotFound"},"503":{"$ref":"#/components/responses/Unavailabl\#
    e"}}}},"/v1/purchases/{transaction}/finish":{"parameters":[{"$ref":"#/components/parameters\#
    /Transaction"}],"post":{"operationId":"finishPurchase","tags":["purchases"],"summary":"Fini\#
    sh a purchase","description":"409: it is deferred or failed. Scope: purchase.","responses":\#
    {"204":{"description":"It is finished; also if it was finished before."},"400":{"$ref":"#/c\#
    omponents/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403"\#
    :{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound\#
    "},"409":{"$ref":"#/components/responses/Conflict"},"503":{"$ref":"#/components/responses/U\#
    navailable"}}}},"/v1/purchases/{transaction}/approve":{"parameters":[{"$ref":"#/components/\#
    parameters/Transaction"}],"post":{"operationId":"approvePurchase","tags":["purchases"],"sum\#
    mary":"Approve a deferred or interrupted purchase","description":"Scope: admin.","responses\#
    ":{"200":{"description":"The purchase after the change; also if it was changed like this be\#
    fore.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},\#
    "400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Un\#
    authorized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/\#
    responses/NotFound"},"409":{"$ref":"#/components/responses/Conflict"},"503":{"$ref":"#/comp\#
    onents/responses/Unavailable"}}}},"/v1/purchases/{transaction}/decline":{"parameters":[{"$r\#
    ef":"#/components/parameters/Transaction"}],"post":{"operationId":"declinePurchase","tags":\#
    ["purchases"],"summary":"Decline a deferred purchase","description":"Scope: admin.","reques\#
    tBody":{"required":false,"content":{"application/json":{"schema":{"$ref":"#/components/sche\#
    mas/Change"}}}},"responses":{"200":{"description":"The purchase after the change; also if i\#
    t was changed like this before.","content":{"application/json":{"schema":{"$ref":"#/compone\#
    nts/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":\#
    "#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"4\#
    04":{"$ref":"#/components/responses/NotFound"},"409":{"$ref":"#/components/responses/Confli\#
    ct"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses\#
    /UnsupportedType"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purchases/{t\#
    ransaction}/refund":{"parameters":[{"$ref":"#/components/parameters/Transaction"}],"post":{\#
    "operationId":"refundPurchase","tags":["purchases"],"summary":"Record that the price was pa\#
    id back","description":"Scope: admin.","requestBody":{"required":false,"content":{"applicat\#
    ion/json":{"schema":{"$ref":"#/components/schemas/Change"}}}},"responses":{"200":{"descript\#
    ion":"The purchase after the change; also if it was changed like this before.","content":{"\#
    application/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/co\#
    mponents/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":\#
    {"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"\#
    },"409":{"$ref":"#/components/responses/Conflict"},"413":{"$ref":"#/components/responses/To\#
    oLarge"},"415":{"$ref":"#/components/responses/UnsupportedType"},"503":{"$ref":"#/component\#
    s/responses/Unavailable"}}}},"/v1/purchases/{transaction}/revoke":{"parameters":[{"$ref":"#\#
    /components/parameters/Transaction"}],"post":{"operationId":"revokePurchase","tags":["purch\#
    ases"],"summary":"Take the product back","description":"Scope: admin.","requestBody":{"requ\#
    ired":false,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Change"}}\#
    }},"responses":{"200":{"description":"The purchase after the change; also if it was changed\#
     like this before.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/P\#
    urchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components\#
    /responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"\#
    #/components/responses/NotFound"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"\#
    $ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedT\#
    ype"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purchases/{transaction}/r\#
    everse":{"parameters":[{"$ref":"#/components/parameters/Transaction"}],"post":{"operationId\#
    ":"reversePurchase","tags":["purchases"],"summary":"Undo a refund or a revocation","descrip\#
    tion":"Scope: admin.","responses":{"200":{"description":"The purchase after the change; als\#
    o if it was changed like this before.","content":{"application/json":{"schema":{"$ref":"#/c\#
    omponents/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"\#
    $ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidde\#
    n"},"404":{"$ref":"#/components/responses/NotFound"},"409":{"$ref":"#/components/responses/\#
    Conflict"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/accounts/{account}/e\#
    ntitlements":{"parameters":[{"$ref":"#/components/parameters/Account"}],"get":{"operationId\#
    ":"listEntitlements","tags":["accounts"],"summary":"List what an account can restore","desc\#
    ription":"Every restorable purchase in the state purchased, finished or not. Scope: read or\#
     purchase.","parameters":[{"name":"since","in":"query","description":"The `revision` of the\#
     previous page.","schema":{"type":"integer","format":"int64","minimum":0,"maximum":92233720\#
    36854775807,"default":0}},{"name":"limit","in":"query","schema":{"type":"integer","minimum"\#
    :1,"maximum":1000,"default":1000}},{"$ref":"#/components/parameters/IfNoneMatch"}],"respons\#
    es":{"200":{"description":"A page in the order of the last changes.","headers":{"ETag":{"$r\#
    ef":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/compon\#
    ents/schemas/Purchases"}}}},"304":{"description":"The page is the same as that of If-None-M\#
    atch.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}}},"400":{"$ref":"#/components\#
    /responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":\#
    "#/components/responses/Forbidden"},"503":{"$ref":"#/components/responses/Unavailable"}}}},\#
    "/v1/accounts/{account}/history":{"parameters":[{"$ref":"#/components/parameters/Account"}]\#
    ,"get":{"operationId":"listHistory","tags":["accounts"],"summary":"List all purchases of an\#
     account","description":"Also consumables, and purchases in other states. Scope: read or pu\#
    rchase.","parameters":[{"name":"since","in":"query","description":"The `revision` of the pr\#
    evious page.","schema":{"type":"integer","format":"int64","minimum":0,"maximum":92233720368\#
    54775807,"default":0}},{"name":"limit","in":"query","schema":{"type":"integer","minimum":1,\#
    "maximum":1000,"default":1000}},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses"\#
    :{"200":{"description":"A page in the order of the last changes.","headers":{"ETag":{"$ref"\#
    :"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/component\#
    s/schemas/Purchases"}}}},"304":{"description":"The page is the same as that of If-None-Matc\#
    h.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}}},"400":{"$ref":"#/components/re\#
    sponses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/\#
    components/responses/Forbidden"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v\#
    1/accounts/{account}/erase":{"parameters":[{"$ref":"#/components/parameters/Account"}],"pos\#
    t":{"operationId":"eraseAccount","tags":["accounts"],"summary":"Replace the name of an acco\#
    unt by a random one","description":"Scope: admin.","responses":{"204":{"description":"No pu\#
    rchase has the name any more."},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"\#
    $ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidde\#
    n"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/events":{"get":{"operationI\#
    d":"listEvents","tags":["events"],"summary":"Wait for events","description":"With `Accept: \#
    text/event-stream`, the response is a stream. 410: the cursor is older than 30 days, or of \#
    another ledger, such as before a restore. Read the entitlements then. Scope: read or purcha\#
    se.","parameters":[{"name":"after","in":"query","description":"The cursor of the last event\#
    ; without it, only new events.","schema":{"$ref":"#/components/schemas/Cursor"}},{"name":"w\#
    ait","in":"query","description":"Seconds to wait for the first event.","schema":{"type":"in\#
    teger","minimum":0,"maximum":30,"default":0}},{"name":"limit","in":"query","schema":{"type"\#
    :"integer","minimum":1,"maximum":200,"default":200}},{"name":"Last-Event-ID","in":"header",\#
    "description":"Like `after`, for a stream that continues; ignored for a response in JSON.",\#
    "schema":{"type":"string"}}],"responses":{"200":{"description":"Events, or none after `wait\#
    `. A stream sends each event with its cursor as id, its kind as event and its JSON as data,\#
     and a comment every 15 s. It ends after 15 minutes.","content":{"application/json":{"schem\#
    a":{"$ref":"#/components/schemas/Events"}},"text/event-stream":{"schema":{"type":"string"}}\#
    }},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses\#
    /Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"410":{"$ref":"#/componen\#
    ts/responses/Gone"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/content-gra\#
    nts":{"post":{"operationId":"grantContent","tags":["content"],"summary":"Get the URLs of pu\#
    rchased contents","description":"403: a content is not in a purchase in the state purchased\#
    . 404: the version is not offered any more. Scope: content.","requestBody":{"required":true\#
    ,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/GrantRequest"}}}},"r\#
    esponses":{"200":{"description":"The package and the index of each content, at every conten\#
    t URL. `urls` is empty if the packages are public.","content":{"application/json":{"schema"\#
    :{"$ref":"#/components/schemas/Grants"}}}},"400":{"$ref":"#/components/responses/BadRequest\#
    "},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/respons\#
    es/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"413":{"$ref":"#/components\#
    /responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedType"},"503":{"$ref"\#
    :"#/components/responses/Unavailable"}}}},"/internal/authorize":{"get":{"operationId":"auth\#
    orize","tags":["content"],"summary":"Decide about a request of the content host","descripti\#
    on":"For nginx's module auth_request. Only the grant in the URL counts; Authorization is ig\#
    nored.","security":[],"parameters":[{"name":"X-Original-URI","in":"header","description":"T\#
    he request target of the client, `$request_uri`.","schema":{"type":"string"}}],"responses":\#
    {"204":{"description":"The request is allowed.","headers":{"Cache-Control":{"schema":{"type\#
    ":"string","pattern":"^max-age=[0-9]+$"}}}},"401":{"description":"The URL has no grant."},"\#
    403":{"description":"The grant is invalid or has expired, or the path is ambiguous."}}}},"/\#
    healthz":{"get":{"operationId":"readHealth","tags":["server"],"summary":"Check that the pro\#
    cess lives","security":[],"responses":{"200":{"description":"It lives.","content":{"applica\#
    tion/json":{"schema":{"type":"object","required":["status"],"properties":{"status":{"const"\#
    :"ok"}}}}}}}}},"/readyz":{"get":{"operationId":"readReadiness","tags":["server"],"summary":\#
    "Check that the ledger and the catalog can be read","security":[],"responses":{"200":{"desc\#
    ription":"Both can be read.","content":{"application/json":{"schema":{"type":"object","requ\#
    ired":["status"],"properties":{"status":{"const":"ready"}}}}}},"503":{"$ref":"#/components/\#
    responses/Unavailable"}}}},"/v1/openapi.json":{"get":{"operationId":"readDescription","tags\#
    ":["server"],"summary":"Read this document","security":[],"responses":{"200":{"description"\#
    :"An OpenAPI document.","content":{"application/json":{"schema":{"type":"object","required"\#
    :["openapi","info","paths"]}}}}}}}},"components":{"securitySchemes":{"bearer":{"type":"http\#
    ","scheme":"bearer","description":"An opaque token (`hct_` and 43 characters), or a JWT (ES\#
    256 or EdDSA) with kid, iss = kid, aud = the server's origin, exp at most 15 minutes ahead,\#
     jti, and optionally sub = the only account that it can use."}},"parameters":{"Transaction"\#
    :{"name":"transaction","in":"path","required":true,"schema":{"type":"string","pattern":"^[!\#
    -.0-~]{1,128}$"}},"Account":{"name":"account","in":"path","required":true,"description":"At\#
     most 256 bytes; `-` is the caller's own account.","schema":{"type":"string","minLength":1,\#
    "maxLength":256,"pattern":"^[^\\u0000-\\u001F\\u007F/]+$"}},"IfNoneMatch":{"name":"If-None-\#
    Match","in":"header","schema":{"type":"string"}}},"headers":{"ETag":{"description":"A stron\#
    g entity tag.","schema":{"type":"string"}},"Link":{"description":"The next page, with rel=\\#
    "next\".","schema":{"type":"string"}},"RetryAfter":{"description":"Seconds to wait.","schem\#
    a":{"type":"string","pattern":"^[0-9]+$"}}},"responses":{"BadRequest":{"description":"The r\#
    equest is invalid.","content":{"application/problem+json":{"schema":{"$ref":"#/components/s\#
    chemas/Problem"}}}},"Unauthorized":{"description":"The token or JWT is missing, invalid, ex\#
    pired or revoked.","headers":{"WWW-Authenticate":{"schema":{"type":"string"}}},"content":{"\#
    application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"Forbidden":\#
    {"description":"The caller may not do this.","content":{"application/problem+json":{"schema\#
    ":{"$ref":"#/components/schemas/Problem"}}}},"NotFound":{"description":"Not found.","conten\#
    t":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"Confli\#
    ct":{"description":"The change is not possible now; `state` is the state of the purchase.",\#
    "headers":{"Retry-After":{"$ref":"#/components/headers/RetryAfter"}},"content":{"applicatio\#
    n/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"Gone":{"description":\#
    "The events after the cursor are not available.","content":{"application/problem+json":{"sc\#
    hema":{"$ref":"#/components/schemas/Problem"}}}},"TooLarge":{"description":"The body is too\#
     large.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Prob\#
    lem"}}}},"UnsupportedType":{"description":"The body is not declared as JSON.","content":{"a\#
    pplication/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"OtherRequest\#
    ":{"description":"The transaction identifier was used for a different request.","content":{\#
    "application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"Unavailabl\#
    e":{"description":"The server cannot process the request now.","headers":{"Retry-After":{"$\#
    ref":"#/components/headers/RetryAfter"}},"content":{"application/problem+json":{"schema":{"\#
    $ref":"#/components/schemas/Problem"}}}}},"schemas":{"Problem":{"type":"object","required":\#
    ["type","title","status","detail","code","remedy"],"properties":{"type":{"const":"about:bla\#
    nk"},"title":{"type":"string"},"status":{"type":"integer","minimum":400,"maximum":599},"det\#
    ail":{"type":"string"},"code":{"type":"integer","description":"The number of the error in t\#
    his project."},"remedy":{"type":"string"},"subject":{"type":"string"},"state":{"$ref":"#/co\#
    mponents/schemas/State"}}},"Identifier":{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9.\#
    _-]{0,199}$","not":{"const":"CACHEDIR.TAG"}},"Version":{"type":"string","maxLength":200,"pa\#
    ttern":"^[0-9]{1,18}(\\.[0-9]{1,18}){0,15}$"},"Transaction":{"type":"string","pattern":"^[!\#
    -~]{1,128}$"},"AccountName":{"type":["string","null"],"minLength":1,"maxLength":256,"patter\#
    n":"^[^\\u0000-\\u001F\\u007F]*$","description":"An opaque name of at most 256 bytes. Missi\#
    ng or `-`: the caller's own account. Names that begin with `key-` are reserved."},"Cursor":\#
    {"type":"string","maxLength":128,"description":"Opaque.","pattern":"^([!-\\-/-~]{1,64}\\.(0\#
    |[1-9][0-9]{0,17}))?$"},"State":{"enum":["deferred","purchased","failed","refunded","revoke\#
    d"]},"Content":{"type":"object","required":["contentIdentifier","version"],"properties":{"c\#
    ontentIdentifier":{"$ref":"#/components/schemas/Identifier"},"version":{"$ref":"#/component\#
    s/schemas/Version"}}},"NewPurchase":{"type":"object","required":["productIdentifier"],"prop\#
    erties":{"productIdentifier":{"$ref":"#/components/schemas/Identifier"},"account":{"$ref":"\#
    #/components/schemas/AccountName"},"quantity":{"type":["integer","null"],"minimum":1,"maxim\#
    um":10,"default":1},"askToBuy":{"type":["boolean","null"],"default":false,"description":"De\#
    fers the purchase until an administrator approves or declines it."},"voucher":{"type":["str\#
    ing","null"],"maxLength":256,"pattern":"^[^\\u0000-\\u001F\\u007F]*$","description":"A code\#
     that pays for the product, if the server sells by vouchers."}}},"Batch":{"type":"object","\#
    required":["purchases"],"properties":{"purchases":{"type":"array","minItems":1,"maxItems":6\#
    4,"items":{"anyOf":[{"type":"object","required":["transactionIdentifier","productIdentifier\#
    "],"properties":{"transactionIdentifier":{"$ref":"#/components/schemas/Transaction"},"produ\#
    ctIdentifier":{"$ref":"#/components/schemas/Identifier"},"account":{"$ref":"#/components/sc\#
    hemas/AccountName"},"quantity":{"type":["integer","null"],"minimum":1,"maximum":10,"default\#
    ":1},"askToBuy":{"type":["boolean","null"],"default":false,"description":"Defers the purcha\#
    se until an administrator approves or declines it."},"voucher":{"type":["string","null"],"m\#
    axLength":256,"pattern":"^[^\\u0000-\\u001F\\u007F]*$","description":"A code that pays for \#
    the product, if the server sells by vouchers."}}},{"description":"Anything else gets a prob\#
    lem as its result."}]}}}},"BatchResults":{"type":"object","required":["results"],"propertie\#
    s":{"results":{"type":"array","minItems":1,"maxItems":64,"items":{"oneOf":[{"type":"object"\#
    ,"required":["status","purchase"],"properties":{"status":{"enum":[200,201]},"purchase":{"$r\#
    ef":"#/components/schemas/Purchase"}}},{"type":"object","required":["status","problem"],"pr\#
    operties":{"status":{"type":"integer","minimum":400,"maximum":599},"problem":{"$ref":"#/com\#
    ponents/schemas/Problem"}}}]}}}},"Purchase":{"type":"object","required":["transactionIdenti\#
    fier","productIdentifier","account","quantity","state","purchaseDate","receipt","contents",\#
    "isRestorable","isFinished","revision"],"properties":{"transactionIdentifier":{"type":"stri\#
    ng"},"productIdentifier":{"$ref":"#/components/schemas/Identifier"},"account":{"type":["str\#
    ing","null"]},"quantity":{"type":"integer","minimum":1,"maximum":10},"state":{"$ref":"#/com\#
    ponents/schemas/State"},"purchaseDate":{"type":"string","format":"date-time"},"receipt":{"t\#
    ype":["string","null"],"description":"A signed receipt (JWS); null before the purchase."},"\#
    contents":{"type":"array","items":{"$ref":"#/components/schemas/Content"}},"isRestorable":{\#
    "type":"boolean"},"isFinished":{"type":"boolean"},"revision":{"type":"integer","format":"in\#
    t64"},"isInterrupted":{"const":true,"description":"It failed because the buyer must first d\#
    o something at the seller."},"reason":{"type":"string"},"revocationDate":{"type":"string","\#
    format":"date-time"}}},"Purchases":{"type":"object","required":["transactions","revision","\#
    hasMore"],"properties":{"transactions":{"type":"array","maxItems":1000,"items":{"$ref":"#/c\#
    omponents/schemas/Purchase"}},"revision":{"type":"integer","format":"int64","description":"\#
    `since` of the next request."},"hasMore":{"type":"boolean"}}},"Change":{"type":"object","pr\#
    operties":{"reason":{"type":["string","null"],"maxLength":1000,"pattern":"^[^\\u0000-\\u001\#
    F\\u007F]*$"}}},"Event":{"type":"object","required":["cursor","kind","account","transaction\#
    ","at","purchase"],"properties":{"cursor":{"$ref":"#/components/schemas/Cursor"},"kind":{"e\#
    num":["purchased","decided","refunded","revoked","reversed","published"],"description":"Oth\#
    er kinds may be added."},"account":{"type":["string","null"]},"transaction":{"type":["strin\#
    g","null"]},"at":{"type":"string","format":"date-time"},"purchase":{"oneOf":[{"$ref":"#/com\#
    ponents/schemas/Purchase"},{"type":"null"}]}}},"Events":{"type":"object","required":["event\#
    s","cursor"],"properties":{"events":{"type":"array","maxItems":200,"items":{"$ref":"#/compo\#
    nents/schemas/Event"}},"cursor":{"$ref":"#/components/schemas/Cursor"}}},"GrantRequest":{"t\#
    ype":"object","required":["contents"],"description":"Of an account, or of one transaction."\#
    ,"properties":{"transaction":{"type":["string","null"],"maxLength":128,"pattern":"^[^\\u000\#
    0-\\u001F\\u007F]*$"},"account":{"$ref":"#/components/schemas/AccountName"},"contents":{"ty\#
    pe":"array","minItems":1,"maxItems":64,"items":{"$ref":"#/components/schemas/Content"}}},"n\#
    ot":{"required":["transaction","account"],"properties":{"transaction":{"type":"string"},"ac\#
    count":{"type":"string"}}}},"Grants":{"type":"object","required":["expires","files"],"prope\#
    rties":{"expires":{"type":"string","format":"date-time"},"files":{"type":"array","maxItems"\#
    :128,"items":{"type":"object","required":["target","urls"],"properties":{"target":{"type":"\#
    string","description":"The path of the file below the store."},"urls":{"type":"array","item\#
    s":{"type":"string","format":"uri"},"description":"Secret until they expire."}}}}}},"Produc\#
    ts":{"type":"object","required":["products","invalid","failures","version"],"properties":{"\#
    products":{"type":"array","maxItems":200,"items":{"$ref":"#/components/schemas/Product"}},"\#
    invalid":{"type":"array","items":{"type":"string"}},"failures":{"type":"array","items":{"$r\#
    ef":"#/components/schemas/Failure"}},"version":{"type":"string","description":"The version \#
    of the catalog."}}},"Failure":{"type":"object","required":["code","message","remedy","subje\#
    ct"],"properties":{"code":{"type":"integer"},"message":{"type":"string"},"remedy":{"type":"\#
    string"},"subject":{"type":["string","null"]}}},"Product":{"type":"object","required":["pro\#
    ductIdentifier","type","texts","contents"],"properties":{"productIdentifier":{"$ref":"#/com\#
    ponents/schemas/Identifier"},"type":{"enum":["non-consumable","consumable","auto-renewable"\#
    ,"non-renewing"]},"texts":{"type":"object","description":"By language (BCP 47).","additiona\#
    lProperties":{"type":"object","required":["title","description"],"properties":{"title":{"ty\#
    pe":"string"},"description":{"type":"string"},"releaseNotes":{"type":"string"}}}},"price":{\#
    "type":"string","pattern":"^[0-9]+(\\.[0-9]+)?$"},"currency":{"type":"string"},"contents":{\#
    "type":"array","items":{"$ref":"#/components/schemas/Offer"}},"withdrawnVersions":{"type":"\#
    object","additionalProperties":{"type":"array","items":{"$ref":"#/components/schemas/Versio\#
    n"}}}}},"Offer":{"type":"object","required":["productIdentifier","contentIdentifier","versi\#
    on","installedSize","package","index"],"properties":{"productIdentifier":{"$ref":"#/compone\#
    nts/schemas/Identifier"},"contentIdentifier":{"$ref":"#/components/schemas/Identifier"},"ve\#
    rsion":{"$ref":"#/components/schemas/Version"},"installedSize":{"type":"integer","minimum":\#
    0},"package":{"$ref":"#/components/schemas/File"},"index":{"$ref":"#/components/schemas/Fil\#
    e"},"signers":{"type":"string"},"withdrawnVersions":{"type":"array","items":{"$ref":"#/comp\#
    onents/schemas/Version"}}}},"File":{"type":"object","required":["path","length","digest"],"\#
    properties":{"path":{"type":"string"},"length":{"type":"integer","minimum":0},"digest":{"ty\#
    pe":"string","pattern":"^[0-9a-f]{64}$"}}}}}}
    """#.utf8)
}
